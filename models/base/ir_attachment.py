from datetime import timedelta

from odoo import api, fields, models

from ...services import text
from ...services.documents.const import MAX_CHARACTERS
from ...services.documents.reader import UNITS
from ...services.llm import files
from ...tools import limits
from ...tools.refusals import BadInput, TooLarge

KEPT_UNSENT = timedelta(days=1)  # that a file waits for its message
MAX_SWEPT = 1_000  # of them in one run
PAGE_BREAK = "\f"


class IrAttachment(models.Model):
    _inherit = "ir.attachment"

    woow_source_server = fields.Char("Source MCP Server", readonly=True)
    woow_source_uri = fields.Char("Source URI", readonly=True)
    # {"mimetype", "kind", "count", "fitting", "characters", "tokens"}, or {"problem"}
    woow_reading = fields.Json("File Reading", groups=fields.NO_ACCESS, copy=False)
    # of a document, with a form feed between pages
    woow_text = fields.Text("File Text", groups=fields.NO_ACCESS, copy=False, prefetch=False)
    woow_unsent_by_id = fields.Many2one(
        "res.users",
        "Waits for a Message of",
        groups=fields.NO_ACCESS,
        copy=False,
        ondelete="cascade",
        index="btree_not_null",
    )

    @api.model
    def _ai_check_size(self, size):
        """Refuse a file by its size.

        :param size: bytes
        :raise Refusal: the file is empty or too large
        """
        if not size:
            raise BadInput(self.env._("The file is empty."), "empty_file")
        if size > files.MAX_BYTES:
            raise TooLarge(
                self.env._(
                    "The file is too large: at most %(limit)s can be attached.",
                    limit=text.size(files.MAX_BYTES),
                ),
                "file_too_large",
                max_bytes=files.MAX_BYTES,
            )

    def _ai_file_data(self):
        """Data of files for the chat's API; the route at `url` checks the reader."""
        # sudo: ir.attachment - names and types only, portal users have no access to the model
        return [
            {
                "id": attachment.id,
                "name": attachment.name,
                "mimetype": attachment.mimetype,
                "url": f"/api/ai/attachments/{attachment.id}",
                **attachment._ai_source(),
            }
            for attachment in self.sudo()
        ]

    def _ai_unsent_data(self):
        """The same of a file that its person is about to send, with what a model reads of it."""
        # sudo: ir.attachment - see `_ai_file_data`
        (data,) = self._ai_file_data()
        reading = self.sudo().woow_reading or {}
        return {
            **data,
            "size": self.sudo().file_size,
            "pages": reading.get("count", 0),
            "pages_read": reading.get("fitting", 0),
            "characters": reading.get("characters", 0),
            "token_estimate": reading.get("tokens", 0),
        }

    @api.model
    def _ai_reading_values(self, reading):
        """Columns of what was read of a file, see `services.llm.files.Reading`."""
        pages = [page.replace(PAGE_BREAK, "\n") for page in reading.pages]
        room = limits.get(self.env, "file_characters_per_message")
        return {
            "woow_reading": {
                "mimetype": reading.mimetype,
                "kind": reading.kind,
                "count": reading.count,
                "fitting": files.fitting(pages, room),
                "characters": reading.characters,
                "tokens": reading.tokens,
            },
            "woow_text": PAGE_BREAK.join(pages)[: 2 * MAX_CHARACTERS] or False,
        }

    @api.model
    def _ai_unsent(self, user):
        """Files that this person has chosen and not sent yet, in no conversation so far."""
        # sudo: ir.attachment - the person's own
        return self.sudo().search(
            [("woow_unsent_by_id", "=", user.id), ("create_uid", "=", user.id)], order="id"
        )

    def _ai_readable_by(self, user):
        """Files that this person has made, or may read; portal users have no access to the model."""
        # sudo: ir.attachment - who has made it
        return self.filtered(
            lambda file: (
                file.sudo().create_uid == user
                or file.with_user(user).sudo(False).has_access("read")
            )
        )

    @api.autovacuum
    def _gc_woow_unsent(self):
        """Files that were chosen and never sent do not stay."""
        long_ago = fields.Datetime.now() - KEPT_UNSENT
        # sudo: ir.attachment - whoever chose them
        gone = self.sudo().search(
            [("woow_unsent_by_id", "!=", False), ("create_date", "<", long_ago)], limit=MAX_SWEPT
        )
        gone.unlink()
        return len(gone), len(gone) == MAX_SWEPT

    def _ai_source(self):
        """Origin of a resource of a server; empty for all other files."""
        if not self.woow_source_uri:
            return {}
        return {"source": {"server": self.woow_source_server, "uri": self.woow_source_uri}}

    def _ai_file(self):
        """The file as the engine takes it, see `services.llm.files`; the caller may read it.

        Its content decides what it is, as far as it was read: Odoo goes by its name.
        """
        self.ensure_one()
        reading = self.woow_reading or {}
        return {
            "name": self.name or "",
            "mimetype": reading.get("mimetype") or self.mimetype or "application/octet-stream",
            "data": self._ai_content,
            "size": self.file_size,
            **self._ai_source(),
            **self._ai_read(reading),
        }

    def _ai_content(self):
        return self.raw or b""

    def _ai_read(self, reading):
        """Extracted text of a document, or the reason that there is none; empty for all other files."""
        if problem := reading.get("problem"):
            return {"problem": problem}
        if reading.get("kind") not in UNITS:
            return {}
        return {"kind": reading["kind"], "count": reading["count"], "pages": self._ai_pages}

    def _ai_pages(self):
        return (self.woow_text or "").split(PAGE_BREAK)
