from odoo import http
from odoo.addons.portal.controllers.portal import CustomerPortal
from odoo.http import request

from ...tools.refusals import BadInput
from ..portal import FORM, PAGE

MEMORY = "woow_paas_platform.memory"


class MemoryPortal(CustomerPortal):
    """Facts that assistants remember about a person: switched, changed and deleted by the person alone."""

    @http.route("/my/ai/memory", **PAGE)
    def portal_my_ai_memory(self, gone=None, **_kw):
        return self._memory_page(is_gone=bool(gone))

    def _memory_page(self, **values):
        user = request.env.user
        facts = request.env[MEMORY]._of(user)
        values.update(page_name="ai_settings", facts=facts, is_on=user.woow_ai_remembers)
        return request.render("woow_paas_platform.portal_my_ai_memory", values)

    @http.route("/my/ai/memory", **FORM)
    def switch_memory(self, is_on="", **_form):
        request.env.user._set_woow_ai_preferences(remembers=is_on == "1")
        return request.redirect("/my/ai/memory", code=303)

    @http.route("/my/ai/memory/<int:memory_id>", **FORM)
    def change_memory(self, memory_id, text="", **_form):
        """Change a fact; refused words give the page once more with the reason, as 422."""
        fact = request.env[MEMORY].browse(memory_id)._own_fact()
        if not fact:
            return request.redirect("/my/ai/memory?gone=1", code=303)
        text = text if isinstance(text, str) else ""  # a form may send a file
        try:
            fact._change(text)
        except BadInput as refusal:
            page = self._memory_page(problem=str(refusal), refused=memory_id, written=text)
            page.status_code = 422
            return page
        return request.redirect("/my/ai/memory", code=303)

    @http.route("/my/ai/memory/<int:memory_id>/delete", **FORM)
    def delete_memory(self, memory_id, **_form):
        fact = request.env[MEMORY].browse(memory_id)._own_fact()
        fact._forget()
        return request.redirect("/my/ai/memory" if fact else "/my/ai/memory?gone=1", code=303)
