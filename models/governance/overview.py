"""Overview for administrators: setup, what waits, usage and failures."""

from datetime import timedelta

from odoo import api, fields, models
from odoo.exceptions import AccessError

from ...services.money import budgets
from ...tools.moments import utc
from ..mcp.mcp_server import TROUBLE

DAYS = 30  # that the graphs show, today included
FAILURES = 5  # the latest ones
SPENDERS = 5  # assistants that cost most
TURN = "woow_paas_platform.ai_turn"
BY_DECISION = ("denied", "cancelled")  # somebody or a rule has kept the call from running
NO_ERRORS = ("ok", *BY_DECISION)


class Overview(models.AbstractModel):
    _name = "woow_paas_platform.overview"
    _description = "Overview"

    @api.model
    def get_overview(self):
        """All of it, in a handful of queries that read an index each.

        :raises AccessError: the person is no administrator of the app
        """
        if not self.env.user.has_group("woow_paas_platform.group_admin"):
            raise AccessError(self.env._("Only administrators can see the overview."))
        local = self.with_context(tz=str(self.env.tz))  # days are those of the person
        today = fields.Date.context_today(local)
        first = today - timedelta(days=DAYS - 1)
        return {
            "setup": self._setup(),
            "first_assistant": self.env["ai.assistant"]._first_defaults(),
            "provider_id": self.env["ai.config"].search([], limit=1).id,
            "servers": self._servers(),
            "waiting": self.env[TURN].search_count([("state", "=", "waiting")]),
            "reviews": self.env["woow_paas_platform.mcp_tool"].search_count(
                [("review_state", "in", ("new", "changed"))]
            ),
            "days": local._days(first),
            "costs": local._costs(),
            "failures": self._failures(first),
        }

    def _setup(self):
        """Steps from nothing to the first answer, each with True if it is done."""
        env = self.env
        tools = [("server_id.active", "=", True), ("server_id.scope", "=", "system")]
        steps = {
            "provider": env["ai.config"].search([("state", "=", "connected")], limit=1),
            "tools": env["woow_paas_platform.mcp_tool"].search(tools, limit=1),
            "assistant": env["ai.assistant"].search([("cloud_service_id", "=", False)], limit=1),
            "answer": env[TURN].search([("state", "=", "done")], order="id", limit=1),
        }
        return {name: bool(found) for name, found in steps.items()}

    def _servers(self):
        """``[{state, label, count}]`` of the servers that are switched on, the worst first."""
        Server = self.env["woow_paas_platform.mcp_server"]
        counts = dict(Server._read_group([], ["state"], ["__count"]))
        labels = dict(Server._fields["state"]._description_selection(self.env))
        return [
            {"state": state, "label": labels[state], "count": counts[state]}
            for state in Server._by_urgency(counts, [])
        ]

    def _days(self, first):
        """One entry a day, the oldest first: turns, and how many of them were answered, stopped and failed; tokens;
        calls, and how many of them succeeded, were kept from running and failed; good and bad ratings."""
        names = ("turns", "done", "stopped", "failed", "tokens")
        names += ("calls", "ok", "prevented", "errors", "good", "bad")
        days = {first + timedelta(days=n): dict.fromkeys(names, 0) for n in range(DAYS)}
        turns = self.env[TURN]._read_group(
            [("create_date", ">=", first - timedelta(days=1))],
            ["create_date:day", "state"],
            ["__count", "tokens:sum"],
        )
        for moment, state, count, tokens in turns:
            if day := days.get(moment.date()):
                day["turns"] += count
                day["tokens"] += tokens or 0
                if state in day:  # else it is open
                    day[state] += count
        for date, outcome, count in self._calls(first):
            if day := days.get(date):
                day["calls"] += int(count)
                kind = "prevented" if outcome in BY_DECISION else "errors"
                day["ok" if outcome == "ok" else kind] += int(count)
        ratings = self.env["woow_paas_platform.answer_rating"]._read_group(
            [("create_date", ">=", first - timedelta(days=1))],
            ["create_date:day", "value"],
            ["__count"],
        )
        for moment, value, count in ratings:
            if day := days.get(moment.date()):
                day[value] += count
        return [{"day": str(day), **values} for day, values in days.items()]

    def _costs(self):
        """Sum up the costs of the company: ``{currency_id, requests, today, month, before, assistants}``.

        `month` are the last `DAYS` days, `before` as many before them; `assistants` are those that cost most in the
        month, ``[{id, name, amount}]``.
        """
        company = self.env.company
        Cost = self.env["woow_paas_platform.cost"]
        now, zone = fields.Datetime.now(), str(self.env.tz)
        since, month, before = (
            budgets.period_of(now - timedelta(days=days), "day", zone)[0]
            for days in (0, DAYS - 1, 2 * DAYS - 1)
        )
        own = [("company_id", "=", company.id)]

        def spent(*when):
            ((amount,),) = Cost._read_group([*own, *when], [], ["company_amount:sum"])
            return amount or 0.0

        groups = Cost._read_group(
            [*own, ("date", ">=", month)],
            ["assistant_id"],
            ["company_amount:sum", "request_count:sum"],
        )
        by_assistant = {assistant: amount for assistant, amount, _requests in groups}
        found = {
            "requests": sum(requests for _assistant, _amount, requests in groups),
            "today": spent(("date", ">=", since)),
            "month": sum(by_assistant.values()),
            "before": spent(("date", ">=", before), ("date", "<", month)),
        }
        most = sorted(by_assistant.items(), key=lambda pair: -pair[1])[:SPENDERS]
        assistants = [
            {"id": assistant.id or None, "name": assistant.name or "", "amount": amount}
            for assistant, amount in most
            if amount
        ]
        return {**found, "currency_id": company.currency_id.id, "assistants": assistants}

    def _calls(self, first):
        """``(day, outcome, count)`` of calls that ended; those that are only counted any more have a day of UTC."""
        counted = self.env["woow_paas_platform.tool_call_sum"]._read_group(
            [("day", ">=", first)], ["day:day", "outcome"], ["calls:sum"]
        )
        calls = self.env["woow_paas_platform.tool_call"]._read_group(
            [
                ("create_date", ">=", first - timedelta(days=1)),
                ("outcome", "!=", False),
                ("is_summed", "=", False),
            ],
            ["create_date:day", "outcome"],
            ["__count"],
        )
        return counted + [(moment.date(), outcome, count) for moment, outcome, count in calls]

    def _failures(self, first):
        """The latest turns without an answer and the servers in trouble, to open."""
        turns = self.env[TURN].search(
            [("state", "=", "failed"), ("create_date", ">=", first)],
            order="create_date desc, id desc",
            limit=FAILURES,
        )
        servers = self.env["woow_paas_platform.mcp_server"].search(
            [("state", "in", TROUBLE)],
            order="state_since desc, id desc",
            limit=FAILURES,
        )
        failures = [
            {
                "model": TURN,
                "id": turn.id,
                "at": utc(turn.ended_at or turn.create_date),
                "name": turn.display_name,
                "who": turn.user_id.name,
                "why": turn._error_sentence(turn.error_code, turn.error_message or ""),
            }
            for turn in turns
        ]
        failures += [
            {
                "model": server._name,
                "id": server.id,
                "at": utc(server.state_since),
                "name": server.display_name,
                "who": "",
                "why": server.state_sentence or "",
            }
            for server in servers
        ]
        return sorted(failures, key=lambda failure: failure["at"] or "", reverse=True)
