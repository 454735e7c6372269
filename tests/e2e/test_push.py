"""Web push in a real Chromium: Odoo's own service worker shows what is pushed, and a click leads to the conversation.

Chromium subscribes at its maker's push service only, so a local one takes its place, and the DevTools protocol hands
over what has arrived there. It has no click on a notification either: the worker is given that event. Chromium's
headless shell has no notifications, the whole browser has.
"""

import json

import pytest
from chat import Chat, first
from conftest import CHROMIUM_ARGUMENTS
from playwright.sync_api import expect
from push_service import PushService
from waiting import eventually

from dev.setup import chromium

SCOPE = "/odoo"
SHOWN = """async () => {
    const registration = await navigator.serviceWorker.getRegistration("/odoo");
    return (await registration.getNotifications()).map(({title, body, data}) => ({title, body, data}));
}"""
CLICK = """async () => {
    const [notification] = await self.registration.getNotifications();
    self.dispatchEvent(new NotificationEvent("notificationclick", {notification}));
}"""


@pytest.fixture(scope="module")
def browser(browser):
    whole = browser.browser_type.launch(executable_path=chromium.ensure(), args=CHROMIUM_ARGUMENTS)
    yield whole
    whole.close()


def test_a_notification_is_shown_and_opens_the_conversation(odoo, scripted_llm, page_of):
    scripted_llm.script(first("How deep is the harbour?", {"content": "15.5 metres."}))
    push = PushService()
    try:
        key = odoo.rpc("mail.push.device", "get_web_push_vapid_public_key", as_login="demo")
        device = {"vapid_public_key": key, **push.subscription}
        odoo.rpc("mail.push.device", "register_devices", as_login="demo", **device)
        # A page that another test has closed may still count as online.
        odoo.sql("UPDATE mail_presence SET status = 'offline'")
        chat = Chat(odoo, "demo")
        chat.ask("How deep is the harbour?")
        eventually(lambda: push.bodies)
        pushed = push.read(push.bodies[0])
    finally:
        push.close()

    page = page_of(odoo, "demo")
    page.context.grant_permissions(["notifications"], origin=odoo.url)
    protocol, found = page.context.new_cdp_session(page), []
    protocol.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: found.extend(event["registrations"]),
    )
    protocol.send("ServiceWorker.enable")
    page.goto("/odoo/discuss")
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    (worker,) = page.context.service_workers
    registration = next(one for one in found if one["scopeURL"].endswith(SCOPE))
    protocol.send(
        "ServiceWorker.deliverPushMessage",
        {
            "origin": odoo.url,
            "registrationId": registration["registrationId"],
            "data": json.dumps(pushed),
        },
    )
    (shown,) = eventually(lambda: page.evaluate(SHOWN))
    assert shown["title"].endswith("has answered")
    assert shown["data"]["res_id"] == chat.id
    assert "metres" not in json.dumps(shown)

    worker.evaluate(CLICK)
    expect(page.locator(".o-mail-DiscussContent")).to_contain_text("15.5 metres.")
