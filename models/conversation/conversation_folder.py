from odoo import api, fields, models
from odoo.exceptions import UserError

from ...services import text
from ...services.llm import files
from ...services.specs import FolderWords
from ...tools.limits import MEGABYTE
from ...tools.refusals import NotThere, Refusal, TooLarge

FOLDER = "woow_paas_platform.conversation_folder"
NAME_CHARS = 60
INSTRUCTION_CHARS = 4_000
MAX_FOLDERS = 200  # of one person
MAX_FILES = 5  # of one folder
MAX_FILE_BYTES = 16 * MEGABYTE  # of all files of one folder


class ConversationFolder(models.Model):
    """A folder for conversations, with what holds for them: each person's own, used over routes only."""

    _name = "woow_paas_platform.conversation_folder"
    _description = "Folder of Conversations"
    _order = "name, id"

    name = fields.Char(required=True, readonly=True)
    user_id = fields.Many2one("res.users", required=True, readonly=True, ondelete="cascade")
    instructions = fields.Text(readonly=True)
    has_foreign_words = fields.Boolean(
        readonly=True,
        help="The instructions hold a quote or a prompt of an MCP server.",
    )
    res_model = fields.Char("Related Model", readonly=True)
    res_id = fields.Many2oneReference("Related Record", model_field="res_model", readonly=True)

    _name_once = models.UniqueIndex("(user_id, lower(name))", "This folder already exists.")

    @api.model
    def _folders_of_caller(self):
        return self.search([("user_id", "=", self.env.uid)])

    def _own_folder(self):
        """The record when it is a folder of the caller, else an empty set."""
        # sudo: conversation_folder - decides only whether the record is the caller's own
        own = self.sudo().exists().filtered(lambda folder: folder.user_id == self.env.user)
        return own.sudo(False)

    # ------------------------------------------------------------ acts of its owner

    @api.model
    def _make_folder(self, name):
        """
        :raises UserError: the name is empty or used, or the caller has as many as one person may
        """
        name = self._free_name(name)
        self.env.user._woow_one_at_a_time()
        if self.search_count([("user_id", "=", self.env.uid)]) >= MAX_FOLDERS:
            raise UserError(
                self.env._(
                    "You have reached the limit of %(limit)s folders. Delete some first.",
                    limit=MAX_FOLDERS,
                )
            )
        # sudo: conversation_folder - people have no access to write; the caller's own
        return self.sudo().create({"name": name, "user_id": self.env.uid}).sudo(False)

    def _rename_folder(self, name):
        # sudo: conversation_folder - see `_make_folder`
        self.sudo().name = self._free_name(name)

    def _instruct(self, instructions):
        """Keep what its owner says to all assistants in its conversations, from their next answers on.

        :raises UserError: it is too long
        """
        instructions = instructions.strip()
        if len(instructions) > INSTRUCTION_CHARS:
            raise UserError(
                self.env._(
                    "The instructions are too long: they can have at most %(limit)s characters.",
                    limit=INSTRUCTION_CHARS,
                )
            )
        delivered = self.env["woow_paas_platform.delivered_prompt"]
        former = self.instructions if self.has_foreign_words else ""
        is_foreign = delivered._is_foreign(instructions, former)
        # sudo: conversation_folder - see `_make_folder`
        self.sudo().write({"instructions": instructions, "has_foreign_words": is_foreign})

    def _set_files(self, ids):
        """Keep these files, which are its own or wait for a message of the caller, and no others.

        :raises Refusal: one is not theirs, or they are too many or too large
        """
        self.env.user._woow_one_at_a_time()
        unsent = self.env["ir.attachment"]._ai_unsent(self.env.user)
        own = self._files()
        chosen = (own | unsent).filtered(lambda file: file.id in ids)
        if len(chosen) != len(set(ids)):
            raise NotThere(self.env._("This file does not exist."))
        if len(chosen) > MAX_FILES:
            raise Refusal(
                self.env._("A folder can have at most %(limit)s files.", limit=MAX_FILES),
                "too_many_files",
                max_files=MAX_FILES,
            )
        if sum(chosen.mapped("file_size")) > MAX_FILE_BYTES:
            raise TooLarge(
                self.env._(
                    "The files of a folder can have at most %(limit)s together.",
                    limit=text.size(MAX_FILE_BYTES),
                ),
                "file_too_large",
                max_bytes=MAX_FILE_BYTES,
            )
        (own - chosen).unlink()
        here = {"res_model": FOLDER, "res_id": self.id, "woow_unsent_by_id": False}
        (chosen & unsent).write(here)

    def _set_record(self, record):
        """Let conversations that are begun in it be about a record, or about none.

        :raises AccessError: the caller may not read it
        """
        if record:
            record.check_access("read")
        # sudo: conversation_folder - see `_make_folder`
        self.sudo().write(
            {
                "res_model": record._name if record else False,
                "res_id": record.id if record else False,
            }
        )

    def _delete_folder(self):
        """Its conversations stay, in no folder; its files go with it."""
        # sudo: conversation_folder - see `_make_folder`
        self.sudo().unlink()

    def _free_name(self, name):
        name = " ".join(text.clean(name).split())[:NAME_CHARS].strip()
        if not name:
            raise UserError(self.env._("Name the folder."))
        others = self._folders_of_caller() - self
        if name.lower() in {other.name.lower() for other in others}:
            raise UserError(self.env._("You already have a folder “%(name)s”.", name=name))
        return name

    # ------------------------------------------------------------ what holds for its conversations

    def _files(self):
        """Files of these folders."""
        # sudo: ir.attachment - portal users have no access to the model; whoever calls may read the folders
        Attachment = self.env["ir.attachment"].sudo()
        return Attachment.search(
            [("res_model", "=", FOLDER), ("res_id", "in", self.ids)], order="id"
        )

    def _records(self):
        """``{folder: record}`` for those about a record that the caller may read."""
        found = {}
        for model, folders in self.filtered("res_id").grouped("res_model").items():
            if model not in self.env:
                continue
            records = self.env[model].browse(folders.mapped("res_id")).exists()
            readable = records._filtered_access("read")
            for folder in folders:
                if record := readable.filtered(lambda one, about=folder.res_id: one.id == about):
                    found[folder] = record
        return found

    def _record_for(self, assistant, service):
        """The record that a conversation begun here is about; None where there is none, or the assistant answers about
        no record."""
        record = self._records().get(self) if self else None
        return None if not record or assistant._refusal_by_service(service, record) else record

    def _folder_data(self):
        """Data of folders for the chat's API."""
        records, files_of = self._records(), self._files().grouped("res_id")
        unseen = self._with_unseen()
        return [
            {
                "id": folder.id,
                "name": folder.name,
                "instructions": folder.instructions or "",
                "files": [file._ai_unsent_data() for file in files_of.get(folder.id, ())],
                "record": _record_data(records.get(folder)),
                "unseen": folder in unseen,
            }
            for folder in self
        ]

    def _with_unseen(self):
        """Folders of the caller with an answer that the caller has not seen."""
        unseen = self.env["discuss.channel"]._ai_unseen()
        return self & unseen._member_of_caller().woow_folder_id.sudo(False)

    def _words(self):
        """:return: the `FolderWords` of the folder"""
        attached = [file._ai_file() for file in self._files()[:MAX_FILES]]
        return FolderWords(
            name=self.name,
            said=self.instructions or "",
            own="" if self.has_foreign_words else self.instructions or "",
            files=tuple(file for file in attached if file["size"] <= files.MAX_BYTES),
            is_foreign=bool(attached or self.has_foreign_words),
        )


def _record_data(record):
    if not record:
        return None
    return {"model": record._name, "id": record.id, "name": record.display_name}
