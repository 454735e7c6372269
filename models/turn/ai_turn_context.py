"""What of a conversation the model is shown: a summary of its beginning, and the turns since then."""

from dataclasses import replace

from odoo import models
from odoo.tools import SQL

from ...services.context import budget, summary
from ...services.errors import LlmContextTooLong
from ...services.llm import files
from ...services.specs import Compaction, Context

BATCH = 40  # turns that are read first, at once
SHOWN = ("prompt", "mentions", "user_id", "assistant_id")  # what is read of each
RATIO_OF = 5  # latest turns of which one may know what the provider counts
DENSER = 4 / 3  # as many tokens as were estimated, where a provider refuses what should have fitted
READ = 2  # times what fits is read: of a conversation that was never summed up, only the end is


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _turn_request(self, said=""):
        path = self._earlier_turns()[::-1].ids
        # Whether this question has files is read together with those of the turns that are shown with it.
        shown = self.with_prefetch((*path[-BATCH:], *self.ids))
        request = super(AiTurn, shown)._turn_request(said)
        (question,) = request.history
        pictures = files.MAX_PICTURES if request.llm.supports_vision else 0
        pictures -= len(question.get("pictures", ()))
        limit = self._context_limit()
        event, failures, since = self._former_summary(path)
        former = summary.as_messages(event["content"]) if event else ()
        path_since = [turn_id for turn_id in path if not event or turn_id > event["until"]]

        latest = self.browse(dict.fromkeys((*path_since[-BATCH:], *self._told_of_ratio(path))))
        transcripts = latest._transcripts()
        ratio = self._token_ratio(path, transcripts)
        rest = budget.tokens_of_rest(request.system_prompt, ()) + self._definition_tokens(request)
        answer = request.llm.max_tokens or 0
        # in tokens as they are estimated
        room = int(budget.for_messages(limit, rest, answer) / ratio)
        around = budget.tokens_of((*former, question))
        turns = self._read_turns(path_since, READ * room, pictures, transcripts)
        sizes = [budget.tokens_of(messages) for messages in turns]
        most = min(summary.MAX_TOKENS, room // 4)
        plan = budget.plan(sizes, around, room, most, at_once=self.is_compact)

        shown = _joined(turns[len(turns) - plan.shown :])
        compaction = None
        if plan.summed_up and (self.is_compact or not budget.is_paused(failures, since)):
            last = plan.summed_up - len(turns) - 1  # the path may begin before what was read
            until = path_since[last]
            messages = _joined(turns[: plan.summed_up])
            compaction = Compaction(
                messages=messages,
                kept=_joined(turns[plan.summed_up :]),
                until=until,
                path=summary.path_key(turn_id for turn_id in path if turn_id <= until),
                count=summary.count(messages),
                room=room,
                former=former,
                note=self._compact_note(),
                failures=failures,
                left_out=plan.shown < len(path_since),
            )
        return replace(
            request,
            history=(*former, *shown, question),
            context=Context(
                limit=limit,
                ratio=ratio,
                summary=budget.tokens_of(former),
                compaction=compaction,
                is_command=self.is_compact,
            ),
        )

    def _record_cause(self, code, message, detail):
        result = super()._record_cause(code, message, detail)
        if code == LlmContextTooLong.code and not self._provider()._note_refusal(detail):
            self._note_density()
        return result

    def _note_density(self):
        """What the provider takes was known, so its tokens are more than was estimated: of this conversation only."""
        ratio = min(self._token_ratio(self._earlier_turns()[::-1].ids) * DENSER, budget.RATIOS[1])
        progress = self.transcript or {}
        context = {**progress.get("context", {}), "ratio": round(ratio, 3)}
        self.transcript = {**progress, "context": context}

    def _context_limit(self):
        """What every provider takes that this turn may ask."""
        first = self.assistant_id.config_id
        return min(config._context_tokens() for config in first | first.fallback_id)

    def _definition_tokens(self, request):
        known = sum(tool.tokens for tool in request.tools if not tool.is_blocked)
        return min(known, request.limits.definition_tokens)

    def _told_of_ratio(self, path):
        """Ids of the turns that may know what the provider counts, the latest last."""
        return [*path[-RATIO_OF:], *self.retry_of_id.ids, *self.ids]

    def _token_ratio(self, path, transcripts=None):
        """What the provider last reported in this conversation, in proportion to what was estimated.

        :param transcripts: those of `_told_of_ratio`, if the caller has them
        """
        told = self._told_of_ratio(path)
        transcripts = transcripts or self.browse(told)._transcripts()
        for turn_id in reversed(told):
            if held := transcripts[turn_id].get("context"):
                return held["ratio"]
        return 1.0

    def _transcripts(self):
        """``{id: transcript}``. A field gives a copy each time, and these are long."""
        self.flush_recordset(["transcript"])
        rows = self.env.execute_query(
            SQL(
                "SELECT id, transcript FROM woow_paas_platform_ai_turn WHERE id = ANY(%s)", self.ids
            )
        )
        return {turn_id: transcript or {} for turn_id, transcript in rows}

    def _read_turns(self, path, room, pictures, transcripts):
        """The messages of each turn, oldest first; of more than fits, or than are shown, those of the latest.

        :param path: ids of the turns, oldest first
        :param pictures: how many of the latest questions the model may be shown
        :param transcripts: those of the latest `BATCH`
        """
        turns, picture_room = [], files.PICTURES_CAP
        whole, left, batch = room, len(path), BATCH
        while left:
            begin = max(0, left - batch)
            read = self.browse(path[begin:left])
            read.fetch(SHOWN)
            held = transcripts if left == len(path) else read._transcripts()
            for turn in read[::-1]:
                question = turn._question_message(pictures if picture_room > 0 else 0)
                pictures -= len(question.get("pictures", ()))
                picture_room -= sum(len(one["data"]) for one in question.get("pictures", ()))
                is_own = turn.user_id == self.user_id
                messages = turn._history_messages(held[turn.id], with_calls=is_own)
                messages = (question, *messages)
                turns.append(messages)
                room -= budget.tokens_of(messages)
                if room < 0 or len(turns) == budget.MOST_TURNS:
                    return turns[::-1]
            left = begin
            # As many as will fit, if they are like those so far.
            fitting = room * len(turns) // max(1, whole - room)
            batch = min(max(BATCH, fitting), budget.MOST_TURNS)
        return turns[::-1]


def _joined(turns):
    return tuple(message for messages in turns for message in messages)
