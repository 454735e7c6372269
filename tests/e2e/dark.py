"""Pages in the dark. Community has Odoo's dark bundle but never asks for it: a page gets it in place of the light."""

import re

from playwright.sync_api import BrowserContext, Page, Route

NAME = "color_scheme"
BACKEND = "**/odoo/**"
LIGHT_STYLES = re.compile(r"/web/assets/[^/\"]+/web\.assets_web\.min\.css")
DARK_STYLES = "/web/assets/any/web.assets_web_dark.min.css"


def _darken(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=LIGHT_STYLES.sub(DARK_STYLES, answer.text()))


def is_dark(context: BrowserContext) -> bool:
    return any(cookie["name"] == NAME for cookie in context.cookies())


def darken(page: Page, url: str) -> None:
    """From the next page on, as for a person who has chosen it."""
    page.context.add_cookies([{"name": NAME, "value": "dark", "url": url}])
    page.context.route(BACKEND, _darken)


def lighten(page: Page) -> None:
    page.context.clear_cookies(name=NAME)
    page.context.unroute(BACKEND, _darken)
