"""Links to the texts of conversations: made, listed, revoked, read and continued."""

from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal
from odoo.exceptions import UserError
from odoo.http import request

from ...models.conversation.conversation_share import DAYS, SHARE, drawn
from ...runtime.web import api_error
from ...runtime.web.api_error import ApiError
from ..chat import one_at_a_time
from ..portal import FORM, PAGE

CHOSEN = 7  # days, if nothing else is chosen
HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


class SharesPortal(CustomerPortal):
    @http.route("/my/ai/<int:conversation_id>/share", **PAGE)
    def portal_my_ai_share(self, conversation_id, **_kw):
        """The text as it would be shared, for the person to confirm."""
        channel = self._own_conversation(conversation_id)
        return self._share_confirmation(channel) if channel else request.redirect("/my/ai?gone=1")

    @http.route("/my/ai/<int:conversation_id>/share", **FORM)
    def share(self, conversation_id, days="", digest="", **_form):
        channel = self._own_conversation(conversation_id)
        if not channel:
            return request.redirect("/my/ai?gone=1")
        lifetime = next((number for number in DAYS if str(number) == days), CHOSEN)
        try:
            with one_at_a_time():
                share, token = request.env[SHARE]._share(channel, lifetime, digest)
        except (UserError, ApiError) as error:
            return self._share_confirmation(channel, error)
        address = f"{request.httprequest.url_root.rstrip('/')}/my/ai/shared/{token}"
        return self._share_page("shared", channel=channel, share=share, address=address)

    def _own_conversation(self, conversation_id):
        return request.env["discuss.channel"].browse(conversation_id)._own_conversation()

    def _share_confirmation(self, channel, error=None):
        """:param error: the reason that the text was not shared"""
        Share = request.env[SHARE]
        _ = request.env._
        days = {days: _("1 day") if days == 1 else _("%(count)s days", count=days) for days in DAYS}
        values = {"channel": channel, "days": days, "chosen": CHOSEN}
        try:
            with one_at_a_time():
                content, audience = Share._text_of(channel), Share._audience_of(channel)
                values |= {
                    "readers": Share._readers_sentence(**audience),
                    "messages": drawn(content["messages"]),
                    "digest": Share._digest_of(content, audience),
                }
        except (UserError, ApiError) as refusal:
            error = error or refusal
        return self._share_page("share", error, **values)

    @http.route("/my/ai/shares", **PAGE)
    def portal_my_ai_shares(self, gone=None, **_kw):
        shares = request.env[SHARE]._shares_of_caller()
        return self._share_page(
            "shares", page_name="ai_settings", shares=shares, is_gone=bool(gone)
        )

    @http.route("/my/ai/shares/<int:share_id>/revoke", **FORM)
    def revoke_share(self, share_id, **_form):
        share = request.env[SHARE].browse(share_id)._own_share()
        share._revoke()
        return request.redirect("/my/ai/shares" if share else "/my/ai/shares?gone=1", code=303)

    @http.route("/my/ai/shared/<string:token>", **PAGE)
    def portal_my_ai_shared(self, token, **_kw):
        return self._shared_text(token)

    @http.route("/my/ai/shared/<string:token>/continue", **FORM)
    def continue_shared(self, token, **_form):
        share = request.env[SHARE]._of_token(token)
        if not share:
            return self._shared_text(token)
        try:
            with one_at_a_time(), request.env.cr.savepoint():
                channel = share._continue()
        except (UserError, ApiError) as error:
            return self._shared_text(token, error)
        return request.redirect(f"/my/ai/{channel.id}", code=303)

    def _shared_text(self, token, error=None):
        """Page with what the caller may read now; a link that leads nowhere looks the same for whatever reason."""
        share = request.env[SHARE]._of_token(token)
        if not share:
            return self._share_page("read", ApiError.not_found(""))
        messages, is_cut = [], False
        try:
            with one_at_a_time():
                messages, is_cut = share._messages_for(request.env.user)
                messages = drawn(messages)
        except ApiError as busy:
            error = error or busy
        return self._share_page(
            "read", error, share=share, messages=messages, is_cut=is_cut, token=token
        )

    def _share_page(self, name, error=None, page_name="ai_share", **values):
        problem = api_error.of(error, api_error.request_reader()) if error else None
        values |= {"page_name": page_name, "problem": problem and problem.description}
        page = request.render(f"woow_paas_platform.portal_my_ai_{name}", values)
        if problem:
            page.status_code = problem.code
        page.headers.update(HEADERS)
        return page
