"""Ratings of answers in a real browser, from the thumb to the administrator's reply, on a desktop and on a phone."""

import re

import axe
import pytest
from chat import Chat, calls, first, then
from conftest import E2E_LOGS
from dark import darken
from playwright.sync_api import expect
from test_discuss import open_discuss, say
from waiting import eventually

ANSWER, REPLY = "It is sunny in Graz.", "The forecast was late."
RATINGS = "woow_paas_platform.answer_rating"
CLOCK = ("time__get_current_time", {"timezone": "Europe/Vienna"})
PLACES = {
    "portal": ("user", "/my/ai/{}", {"width": 1440, "height": 900}),
    "backend-phone-dark": ("demo", "/odoo/ai-chat/{}", {"width": 390, "height": 844}),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_bad_answer_is_rated_read_and_replied_to(odoo, scripted_llm, page_of, place, request):
    login, path, size = PLACES[place]
    asked = f"Weather in Graz, {place}?"
    scripted_llm.script(first(asked, calls(CLOCK)), then(asked, {"content": ANSWER}))
    page = page_of(odoo, login, viewport=size)
    if "dark" in place:
        darken(page, odoo.url)
    chat = Chat(odoo, client=odoo.session(login))
    # no rating is left for other tests
    request.addfinalizer(lambda: chat.http.delete(f"/api/ai/conversations/{chat.id}"))
    page.goto(path.format(chat.id))
    page.locator(".o_ai_chat_input").fill(asked)
    page.keyboard.press("Enter")
    good, bad = page.locator("[data-rating='good']"), page.locator("[data-rating='bad']")
    expect(bad).to_be_visible()

    good.focus()
    page.keyboard.press("Space")
    expect(good).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(bad).to_have_attribute("aria-pressed", "true")
    expect(good).to_have_attribute("aria-pressed", "false")
    form = page.get_by_role("form", name="Details of your rating")
    form.get_by_label("What was wrong?").select_option("inaccurate")
    form.get_by_label("Comment").fill(f"It rains, {place}.")
    share = form.get_by_role("checkbox", name="Share this question and answer")
    expect(share).not_to_be_checked()
    share.press("Space")
    expect(share).to_have_accessible_description(re.compile("those who manage the service"))
    assert axe.violations(page, ".o_ai_chat_thread") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.screenshot(path=E2E_LOGS / f"rating-{place}.png")
    form.get_by_role("button", name="Send").press("Enter")
    expect(page.get_by_text("Thank you for your feedback.")).to_be_visible()
    expect(page.locator(".o_ai_chat_rating_details")).to_be_focused()

    page.reload()
    expect(bad).to_have_attribute("aria-pressed", "true")
    page.locator(".o_ai_chat_rating_details").press("Enter")
    expect(form.get_by_label("Comment")).to_have_value(f"It rains, {place}.")
    expect(form.get_by_label("What was wrong?")).to_have_value("inaccurate")

    if login == "user":
        reply_in_the_backend(page_of(odoo, "admin", viewport=size), asked, place)
    else:
        (rating,) = odoo.rpc(RATINGS, "search", [("text", "=", f"It rains, {place}.")])
        odoo.rpc(RATINGS, "write", [rating], {"reply": REPLY})

    page.reload()
    expect(page.locator(".o_ai_chat_rating_reply")).to_contain_text(REPLY)
    assert axe.violations(page, ".o_ai_chat_thread") == []
    page.screenshot(path=E2E_LOGS / f"rating-reply-{place}.png")
    bad.press("Enter")
    expect(bad).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".o_ai_chat_rating_reply")).to_have_count(0)


def reply_in_the_backend(admin, asked, place):
    admin.goto("/odoo/ai-ratings")
    row = admin.get_by_text(f"It rains, {place}.")
    for reason, tool, count in (
        ("Inaccurate", "get_current_time", 1),
        ("Inaccurate", "convert_time", 0),
        ("Too Slow", "get_current_time", 0),
    ):
        expect(row).to_be_visible()
        admin.locator(".o_searchview_dropdown_toggler").click()
        admin.get_by_role("menuitemcheckbox", name=reason, exact=True).click()
        admin.locator(".o_searchview_dropdown_toggler").click()
        admin.locator(".o_searchview_input").fill(tool)
        admin.locator(".o_searchview_autocomplete a", has_text=f"Tool for: {tool}").click()
        expect(admin.locator(".o_searchview_facet")).to_have_count(2)
        expect(row).to_have_count(count)
        for left in (1, 0):
            admin.locator(".o_facet_remove").first.click()
            expect(admin.locator(".o_searchview_facet")).to_have_count(left)
    row.click()
    sheet = admin.locator(".o_form_view")
    expect(sheet.locator("[name='shared_question']")).to_contain_text(asked)
    expect(sheet.locator("[name='shared_answer']")).to_contain_text(ANSWER)
    admin.locator("[name='reply'] textarea").fill(REPLY)
    admin.get_by_role("button", name="Mark as Read").click()
    expect(sheet.locator("[name='seen_by_id']")).to_be_visible()
    admin.screenshot(path=E2E_LOGS / f"rating-form-{place}.png")
    admin.goto("/odoo/ai-overview")
    expect(admin.locator("[data-number='good'] td").first).to_have_text("0%")
    expect(admin.locator(".o_woow_chart canvas")).to_have_count(4)


def test_an_answer_in_discuss_is_rated(odoo, scripted_llm, page_of, request):
    scripted_llm.script(first("Weather in Linz?", {"content": ANSWER}))
    chat = Chat(odoo, client=odoo.session("demo"))
    request.addfinalizer(lambda: chat.http.delete(f"/api/ai/conversations/{chat.id}"))
    page = page_of(odoo, "demo")
    open_discuss(page, chat.id)
    say(page, "Weather in Linz?")
    answer = page.locator(".o-mail-Message", has_text=ANSWER)
    rate = answer.get_by_role("button", name="Rate Answer")

    def is_pointed_at():  # an answer that grows moves away from under the pointer
        answer.hover()
        return rate.is_visible()

    eventually(is_pointed_at)
    rate.click()
    good = answer.locator("[data-rating='good']")
    expect(good).to_be_focused()
    page.keyboard.press("Enter")
    expect(good).to_have_attribute("aria-pressed", "true")
    assert axe.violations(page, ".o_ai_discuss") == []
    page.screenshot(path=E2E_LOGS / "rating-discuss.png")
    rated = [message["turn"]["rating"]["value"] for message in chat.page()["messages"][1:]]
    assert rated == ["good"]
