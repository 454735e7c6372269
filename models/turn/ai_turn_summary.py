"""Summaries of earlier turns: which one counts for a turn, and what a turn keeps of its own."""

from odoo import api, fields, models
from odoo.tools import formatLang

from ...services.context import summary
from ...services.render import markdown

COMPACT = "/compact"


def _about(tokens):
    """Two digits of an estimate say as much as all of them.

    >>> _about(9432), _about(612), _about(7)
    (9400, 610, 7)
    """
    return round(tokens, 2 - len(str(tokens))) if tokens > 99 else tokens


def _event_with_html(made):
    """The event of a summary; one that an earlier version made is Markdown only."""
    event = made["event"]
    return event if "html" in event else {**event, "html": markdown.render(event["content"])}


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    is_compact = fields.Boolean(
        "Only Sums Up",
        readonly=True,
        help="The person has asked to sum up the conversation; there is no question to answer.",
    )
    summary_until = fields.Integer(
        compute="_compute_summary",
        store=True,
        precompute=True,
        help="The last turn that the summary made in this turn stands for.",
    )
    summary_failures = fields.Integer(
        compute="_compute_summary",
        store=True,
        precompute=True,
        help="How many attempts to sum up have failed in a row, this one included.",
    )

    _summed_up = models.Index("(channel_id, id) WHERE summary_until > 0 OR summary_failures > 0")

    @api.depends("transcript")
    def _compute_summary(self):
        for turn in self:
            progress = turn.transcript or {}
            made = progress.get("summary") or {}
            turn.summary_until = made["event"]["until"] if made else 0
            turn.summary_failures = progress.get("summary_failures") or 0

    def _earlier_domain(self):
        return [*super()._earlier_domain(), ("is_compact", "=", False)]

    def _summary_turns(self):
        """Turns that have summed up, or tried to, where this one goes on from; the latest first, itself among them.

        In a thread, what tools said is for who asked, so a summary is, too.
        """
        return self.search(
            [
                ("channel_id", "=", self.channel_id.id),
                ("id", "<=", self.id),
                ("user_id", "=", self.user_id.id),
                ("retry_ids", "=", False),
                ("hidden", "=", 0),
                "|",
                ("summary_until", ">", 0),
                ("summary_failures", ">", 0),
            ]
        )

    def _own_summary(self):
        """``{"path", "event"}`` of the summary that was made in this turn, or None."""
        if not self.summary_until:
            return None
        # transcripts are long: not those of all the others besides
        return self.with_prefetch(self.ids).transcript["summary"]

    def _former_summary(self, path):
        """The latest summary of turns that all stand on this path, and what was tried in vain since then.

        :param path: ids of the earlier turns, oldest first
        :return: (event or None, failures in a row, turns since the last of them)
        """
        failures, since = 0, 0
        for turn in self._summary_turns():
            made = turn._own_summary()
            covered = [turn_id for turn_id in path if turn_id <= turn.summary_until]
            if made and made["path"] == summary.path_key(covered):
                return made["event"], failures, since
            if turn.summary_failures and not failures:
                failures = turn.summary_failures
                since = sum(turn_id >= turn.id for turn_id in path)
        return None, failures, since

    def _become_compact(self):
        """There is no answer that anybody would have to be told of."""
        # sudo: ai_turn - people have no write access; the turn was made for the caller just now
        self.sudo().write({"is_compact": True, "is_unseen": False})

    def _compact_note(self):
        """What the person wants kept in mind."""
        return self.prompt.removeprefix(COMPACT).strip() if self.is_compact else ""

    # ------------------------------------------------------------ what shows it

    def _summary_sentence(self):
        """What came of summing up, for readers who have no divider."""
        made = self._own_summary()
        if not made:
            return self.env._("There is nothing to sum up yet.")
        event = made["event"]
        numbers = {
            "count": event["messages"],
            "before": formatLang(self.env, _about(event["tokens_before"]), digits=0),
            "after": formatLang(self.env, _about(event["tokens_after"]), digits=0),
        }
        if event["messages"] == 1:
            return self.env._(
                "1 earlier message summed up: about %(before)s → %(after)s tokens", **numbers
            )
        return self.env._(
            "%(count)s earlier messages summed up: about %(before)s → %(after)s tokens", **numbers
        )

    def _transcript_parts(self):
        """A summary stands before all that the turn has said."""
        parts = super()._transcript_parts()
        for turn in self.filtered("summary_until"):
            messages, asides = parts[turn.id]
            aside = {"step": 0, "event": _event_with_html(turn._own_summary())}
            parts[turn.id] = (messages, [aside, *asides])
        return parts

    def _transcript_for_retry(self):
        """Whoever wants an answer anew keeps the summary before it; who wants the summary anew does not."""
        made = not self.is_compact and (self.transcript or {}).get("summary")
        return {**super()._transcript_for_retry(), **({"summary": made} if made else {})}

    def _events_for_retry(self, transcript):
        made = transcript.get("summary")
        return [*([_event_with_html(made)] if made else []), *super()._events_for_retry(transcript)]

    def _retry(self):
        turn = super()._retry()
        if self.is_compact:
            turn._become_compact()
        return turn

    @api.model
    def _context_of(self, channel):
        """How full the last request of a conversation was: ``{"used", "limit", …}`` in tokens, or None."""
        turns = self.search_fetch(
            [("channel_id", "=", channel.id), ("hidden", "=", 0), ("ended_at", "!=", False)],
            ["usage"],
            order="id desc",
            limit=5,
        )
        return next(
            (turn.usage["context"] for turn in turns if (turn.usage or {}).get("context")), None
        )
