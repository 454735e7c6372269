"""Resources of MCP servers that a person attaches to a question, as the files that they hold."""

import base64
import time
from dataclasses import dataclass
from urllib.parse import unquote

from odoo import models

from ...services.errors import FileError, FileTooComplex
from ...services.llm import files
from ...tools.refusals import BadInput, NotThere, Refusal

READING_SECONDS = 30.0  # of all parts of a resource; a request that takes longer ends its worker


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    def _attach_resource(self, source, contents, left_out):
        """Keep what a server sent for a resource, for a message that the caller is about to send.

        :param source: ``{"server", "uri"}`` as the person chose it
        :param contents: see `files_of`
        :param left_out: how many were too many to be read
        :return: ``{"attachments", "left_out"}``: how many parts are neither picture nor text, or too many
        :raises Refusal: nothing of it can be attached; it says why
        :raises FileError: the same, because of what it is
        """
        channel = self._own_conversation()
        if not channel:
            raise NotThere(self.env._("This conversation does not exist."))
        attached, refusal = self.env["ir.attachment"], None
        for content in contents:
            try:
                if isinstance(content.reading, FileError):
                    raise content.reading
                attached += channel._attach_content(
                    content.name, content.data, {**source, "uri": content.uri}, content.reading
                )
            except (Refusal, FileError) as error:
                refusal = error
        if not attached:
            raise refusal or BadInput(self.env._("The file is empty."), "empty_file")
        return {
            "attachments": attached._ai_file_data(),
            "left_out": left_out + len(contents) - len(attached),
        }


def _data_of(content):
    if content.files:
        return base64.b64decode(content.files[0]["data"])
    return content.text.encode()


def _file_name(uri, name):
    """The end of an address that looks like a file, else the resource's own name."""
    last = unquote(uri.rsplit("/", 1)[-1])
    return last if "." in last or not name else name


@dataclass(frozen=True, slots=True)
class SentFile:
    """A part of what a server sent, as it was read.

    :ivar reading: a `files.Reading`; an error where it cannot be read, None where it is too large to try
    """

    name: str
    uri: str
    data: bytes
    reading: files.Reading | FileError | None


def files_of(source, name, contents, person):
    """Read what a server sent for a resource; a document takes seconds, so nobody may hold a cursor.

    :param source: ``{"server", "uri"}`` as the person chose it
    :param name: what the server calls it
    :param contents: `services.mcp.features.prompts_resources.ResourceContent`
    :param person: see `services.llm.files.read`
    """
    until = time.monotonic() + READING_SECONDS
    return [
        _sent(content, source["uri"], name, person, is_late=time.monotonic() > until)
        for content in contents
    ]


def _sent(content, uri, name, person, is_late):
    uri, data, reading = content.uri or uri, _data_of(content), None
    name = _file_name(uri, name)
    if len(data) <= files.MAX_BYTES:
        if is_late:
            return SentFile(name, uri, data, FileTooComplex())
        try:
            reading = files.read(name, data, person)
        except FileError as error:
            reading = error
    return SentFile(name, uri, data, reading)
