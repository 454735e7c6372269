from odoo.tests import tagged

from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestRecordsApi(AiHttpCase):
    def _asked(self, cids=None, **body):
        self._sign_in(self.internal)
        if cids:
            self.opener.cookies["cids"] = cids
        channel = self._conversation(self.internal)
        self.env.flush_all()
        path = f"/api/ai/conversations/{channel.id}/messages"
        status, data = self._call("POST", path, {"content": "Who?", **body})
        self.assertEqual(status, 202, data)
        self.env.invalidate_all()
        return self.env["woow_paas_platform.ai_turn"].browse(data["turn_id"])

    def test_a_turn_knows_the_companies_of_its_question(self):
        mine = self.internal.company_id
        foreign = self.env["res.company"].create({"name": "Foreign"})
        turn = self._asked(company_ids=[foreign.id, mine.id])
        self.assertEqual(turn.companies, [foreign.id, mine.id])
        self.assertEqual(turn._allowed_companies(), mine)

    def test_a_retry_works_in_the_companies_of_its_question(self):
        other = self.env["res.company"].create({"name": "Other"})
        self.internal.company_ids += other
        turn = self._asked(company_ids=[other.id])
        turn.sudo().state = "done"
        self.env.flush_all()
        status, data = self._call("POST", f"/api/ai/turns/{turn.id}/retry", {})
        self.assertEqual(status, 202, data)
        again = turn.browse(data["turn_id"])
        self.assertEqual(again.companies, [other.id])

    def test_without_a_word_they_are_those_of_the_browser(self):
        turn = self._asked(f"{self.internal.company_id.id}-x-999999")
        self.assertEqual(turn.companies, [self.internal.company_id.id, 999999])
        self.assertEqual(turn._allowed_companies(), self.internal.company_id)

    def test_what_is_no_list_of_companies_is_refused(self):
        self._sign_in(self.internal)
        path = f"/api/ai/conversations/{self._conversation(self.internal).id}/messages"
        self.assertEqual(self._call("POST", path, {"content": "Who?", "company_ids": "1"})[0], 400)
