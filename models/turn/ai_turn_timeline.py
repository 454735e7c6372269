"""Timeline of a turn that ended: its text, calls and remarks in the order of the stream, without the events."""

from odoo import models
from odoo.tools import SQL, html2plaintext

from ...services.llm import thinking
from ...services.render import markdown
from ...tools import sentences


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _timelines(self, answers):
        """The order of text, calls and remarks of these turns, for the history.

        :param answers: the HTML of each turn's answer by the turn's id
        :return: ``{turn id: [entry]}``; an entry is ``{"type": "text_block", "html", "text"}``,
            ``{"type": "tool_call", "id"}`` of a call in ``tool_calls``, or an event of the stream
        """
        transcripts = self._transcript_parts()
        return {
            turn.id: turn._timeline(*transcripts.get(turn.id, ((), ())), answers.get(turn.id, ""))
            for turn in self
        }

    def _transcript_parts(self):
        """``{turn id: (what was said, asides)}``; the results of tools stay in the database."""
        self.flush_recordset(["transcript"])
        rows = self.env.execute_query(
            SQL(
                """
                SELECT id, jsonb_path_query_array(transcript, %s), transcript -> 'asides'
                  FROM woow_paas_platform_ai_turn WHERE id = ANY(%s)
                """,
                '$.messages[*] ? (@.role == "assistant" || @.role == "user")',
                self.ids,
            )
        )
        return {turn_id: (messages or (), asides or ()) for turn_id, messages, asides in rows}

    def _timeline(self, messages, asides, answer):
        self.ensure_one()
        calls = {call.call_id for call in self._calls_with_taken_over()}
        entries, is_answered = [], False
        last = max((n for n, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
        step = 0
        for number, message in enumerate(messages):
            if message["role"] == "user":
                entries.append({"type": "steered", "text": message["content"]})
                continue
            entries += [self._shown(aside) for aside in asides if aside["step"] == step]
            asked = [call["id"] for call in message.get("tool_calls") or () if call["id"] in calls]
            entries += _thinking(message.get(thinking.KEY), message.get(thinking.MS, 0))
            content = message.get("content") or ""
            is_last = number == last
            if is_last and (not asked or _is_same(content, answer)):
                is_answered = True
                entries += _block(answer, content)
            elif content.strip():
                entries += _block(markdown.render(content), content)
            entries += [{"type": "tool_call", "id": call_id} for call_id in asked]
            calls.difference_update(asked)
            step += 1
        entries += [{"type": "tool_call", "id": call_id} for call_id in sorted(calls)]
        entries += [self._shown(aside) for aside in asides if aside["step"] >= step]
        if not is_answered:
            entries += _block(answer, html2plaintext(answer).strip())
        return entries

    def _shown(self, aside):
        event = aside["event"]
        if event["type"] != "notice":
            return event
        return {**event, "message": sentences.translated(self.env, event["message"])}


def _thinking(text, ms):
    return [{"type": "thinking", "text": text, "ms": ms}] if text else []


def _block(html, text):
    return [{"type": "text_block", "html": html, "text": text}] if html else []


def _is_same(content, html):
    """Whether the answer repeats what was said before the last calls: it was stopped during them."""
    return html2plaintext(markdown.render(content)).strip() == html2plaintext(html).strip()
