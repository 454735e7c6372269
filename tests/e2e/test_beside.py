"""Beside other modules each page and route opens, the chat works, and nothing warns.

`make test` takes website, which changes most; ``--beside=all`` takes them all, which costs minutes.
"""

import re

import httpx
import pytest
from chat import first
from conftest import WORKER
from playwright.sync_api import expect

from dev.checks import testbed
from dev.servers import addon, odoo_log
from dev.setup import neighbours

MODULES = {"website": ("website",), "all": (*neighbours.APPS, "queue_job")}
LANGUAGES = ("zh_TW", "fr_FR")
PREFIXES = ("", "/zh_TW", "/fr")
SECOND = "second.example.com"
MORE = 3_000  # bytes that a visitor's page may have to carry because of the addon
WEBSITES = f"""
languages = [(6, 0, env['res.lang'].search([]).ids)]
env['website'].search([]).language_ids = languages
values = {{'name': 'Second', 'domain': 'http://{SECOND}', 'language_ids': languages}}
env['website'].create(values)
"""
ROUTES = """
from odoo.addons.woow_paas_platform.tests import test_entrances as entrances
result = sorted(entrances.WAITS | entrances.IMMEDIATE)
"""


@pytest.fixture(scope="module")
def beside(request, demo_template, demo_facts):
    """An Odoo with these modules and a second website, both in three languages."""
    which = request.config.getoption("--beside")
    # A cron of website's renders every snippet for a minute; when the server ends meanwhile, it logs errors.
    options, environment = {"max_cron_threads": 0}, dict(demo_facts)
    if which == "all":
        options["addons_path"] = neighbours.addons_path()
        options["server_wide_modules"] = "base,rpc,web,queue_job"
        environment["PYTHONPATH"] = str(neighbours.folder())
    odoo = testbed.OdooServer(
        demo_template, f"beside_{WORKER}", options=options, environment=environment
    )
    said = odoo.add(*MODULES[which], languages=LANGUAGES)
    assert not re.findall(r"^.* (?:WARNING|ERROR) .*woow_paas_platform.*$", said, re.M)
    odoo.shell(WEBSITES)
    if which == "all":
        addon.refresh_demo(odoo.instance, {**demo_facts, "WOOW_AI_EGRESS_ALLOW": testbed.LOOPBACK})
    odoo.start()
    yield odoo
    odoo.stop()


@pytest.mark.parametrize(
    ("login", "path"),
    [("user", "/my/ai"), ("user", "/zh_TW/my/ai"), ("demo", "/odoo/ai-chat")],
    ids=["website", "chinese", "backend"],
)
def test_the_chat(beside, scripted_llm, page_of, login, path):
    scripted_llm.script(first("Tea?", {"content": "Yes, please."}))
    page = page_of(beside, login)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path)
    page.locator(".o_ai_chat_input").fill("Tea?")
    page.keyboard.press("Enter")
    expect(page.locator(".o_ai_chat_message_assistant")).to_contain_text("Yes, please.")
    assert not errors


def test_the_first_assistant_is_the_one_for_the_persons_work(beside, request):
    """Of the demo's; Sales has to be installed for the one that knows it."""
    has_sales = request.config.getoption("--beside") == "all"
    first_of = {
        login: beside.session(login).get("/api/ai/assistants").json()["assistants"][0]["name"]
        for login in ("demo", "user", "portal")
    }
    assert first_of.pop("demo") == ("Sales Assistant" if has_sales else "Demo Assistant")
    assert set(first_of.values()) == {"Demo Assistant"}


@pytest.fixture(scope="module")
def routes(beside):
    """The addon's routes, with ids of what there is."""
    found = {
        "assistant_id": "id) FROM ai_assistant",
        "conversation_id": "channel_id) FROM woow_paas_platform_ai_turn",
        "server_id": "id) FROM woow_paas_platform_mcp_server",
        "service_id": "id) FROM woow_paas_platform_cloud_service",
        "tool_id": "id) FROM woow_paas_platform_mcp_tool",
        "turn_id": "id) FROM woow_paas_platform_ai_turn",
    }
    ids = {name: beside.sql(f"SELECT MAX({what}") for name, what in found.items()}
    return [
        re.sub(r"<\w+:(\w+)>", lambda found: ids.get(found[1], "1"), path)
        for path in beside.shell(ROUTES)
    ]


def test_each_page_opens(beside, routes):
    person = beside.session("user")
    pages = [path for path in routes if path.startswith("/my/")]
    assert len(pages) > 10
    for host in (None, SECOND):
        for prefix in PREFIXES if host is None else PREFIXES[:1]:
            for path in pages:
                headers = {"Host": host} if host else {}
                answer = person.get(prefix + path, headers=headers)
                assert answer.status_code < 400 or answer.status_code in (403, 404, 405), (
                    prefix + path
                )
                if answer.status_code == 403:
                    assert path.startswith("/my/ai/decisions/"), (
                        path
                    )  # a link that nobody has signed
                if answer.status_code == 404:
                    assert path.rpartition("/")[2].isdigit() or "/chat/" in path, path


def test_each_route_answers(beside, routes):
    """Whatever it makes of no input at all, it is no accident."""
    admin = beside.session("admin")
    for path in routes:
        for method in ("GET",) if path.startswith("/my/") else ("GET", "POST"):
            answer = admin.request(method, path, json={} if method == "POST" else None)
            assert answer.status_code != 500, (method, path, answer.text[:500])


def test_each_view_is_made(beside):
    fields = ["path", "res_model", "view_mode", "xml_id"]
    domain = [("path", "!=", False)]
    actions = beside.rpc("ir.actions.act_window", "search_read", domain, fields)
    ours = [row for row in actions if row["xml_id"].startswith("woow_paas_platform.")]
    assert len(ours) > 10
    for action in ours:
        views = [[False, mode] for mode in action["view_mode"].split(",")]
        made = beside.rpc(action["res_model"], "get_views", views=views)
        assert len(made["views"]) == len(views), action["path"]


def _weight(odoo, prefix):
    """Bytes of the first page with its scripts, styles and words, of somebody who has not signed in."""
    with httpx.Client(
        base_url=odoo.url, timeout=testbed.REQUEST_TIMEOUT, follow_redirects=True
    ) as visitor:
        page = visitor.get(f"{prefix}/").raise_for_status()
        files = set(re.findall(r'(?:src|href)="(/web/assets/[^"]+)"', page.text))
        assert len(files) >= 3, page.text
        language = re.search(r'lang="(\w+)-(\w+)"', page.text)
        words = f"/website/translations?lang={language[1]}_{language[2]}"
        parts = [visitor.get(path).raise_for_status() for path in (*files, words)]
    return len(page.content) + sum(len(part.content) for part in parts)


def test_a_visitor_hardly_notices(beside):
    """From here on this Odoo lives without the addon: that is what its pages are compared with."""
    heavier = [_weight(beside, prefix) for prefix in PREFIXES]
    beside.uninstall()
    lighter = [_weight(beside, prefix) for prefix in PREFIXES]
    assert min(lighter) > 500_000
    more = [ours - without for ours, without in zip(heavier, lighter, strict=True)]
    assert max(more) < MORE, more


def test_nothing_warns(beside):
    """The last test here: the log of all the others, where a page's form was also sent without its token."""
    told = [text for level, text in odoo_log.records(beside.log) if level in odoo_log.BAD]
    assert not [text for text in told if "No CSRF validation token" not in text]
