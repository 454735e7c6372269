"""Translated sentences: the engine's fixed English ones in the reader's language.

`services/` knows no Odoo and so no translations; what it says passes through here on its way to a person.
Sentences that hold a name or a number stay as the engine wrote them, unless they match a pattern here.
"""

import re

from odoo.tools.translate import LazyTranslate

from ..services.errors import LAST_WORDS

_lt = LazyTranslate(__name__)

_KNOWN = (
    _lt("Something went wrong in the AI engine."),
    _lt("The configuration is not usable."),
    _lt("This MCP server is no longer in the operator's file."),
    _lt("The operator's file does not release this template any more."),
    _lt("What this MCP server needs is not filled in any more. Fill it in again."),
    _lt("A value is too long or holds characters that do not belong there."),
    _lt("This address is not allowed: only public addresses may be reached."),
    _lt("The stored secret cannot be read with the current key. Enter it again."),
    _lt("This MCP server wants a key of your own. Add it under My account, AI connections."),
    _lt("Where others read along, your own key or sign-in for this MCP server is not used."),
    _lt("The provider of this assistant is switched off. An administrator can switch it on again."),
    _lt(
        "This is a neutralized copy of a database. Switch it on first if it is to be asked from here."
    ),
    _lt("The MCP server failed."),
    _lt("The MCP server cannot be reached. Check its address."),
    _lt("The connection timed out. Check the server's address."),
    _lt("The connection failed: nothing listens at this address and port."),
    _lt("The connection failed: the host is not known, or its address is not public."),
    _lt("The MCP server ended the connection."),
    _lt("The program of this MCP server ended before it had answered."),
    _lt(
        "The program of this MCP server did not start in time. The operator can give it more with start_timeout."
    ),
    _lt("The MCP server was switched off, or its conversation is over."),
    _lt("The MCP server refused the credentials."),
    _lt("The MCP server wants you to sign in."),
    _lt("The MCP server's sign-in needs a client that was registered there."),
    _lt("The MCP server does not say where to sign in."),
    _lt("This sign-in is not known or too old. Start it again."),
    _lt("The answer of the sign-in does not say who sent it."),
    _lt("The answer of the sign-in came from somebody else."),
    _lt("The MCP server's sign-in leads to another server, which is not safe here."),
    _lt("The sign-in was not completed."),
    _lt("The sign-in for this MCP server cannot be looked up now. Try again in a moment."),
    _lt("The MCP server's sign-in does not offer what is needed (PKCE with S256)."),
    _lt("The MCP server's sign-in did not accept this client."),
    _lt("The MCP server's sign-in gave no access."),
    _lt("The MCP server's sign-in gave a token of an unknown kind."),
    _lt("The MCP server's sign-in has moved. Enter the client of the new one."),
    _lt("The MCP server wants more rights than it can be given."),
    _lt("The MCP server's sign-in cannot be found."),
    _lt("The MCP server's sign-in is not encrypted (https)."),
    _lt("The MCP server's sign-in is meant for another address."),
    _lt("The sign-in of the MCP server is not trustworthy: it names another issuer."),
    _lt("The MCP server wants to know something first, and nobody can be asked here."),
    _lt("The MCP server asks to slow down. Try again later."),
    _lt("The MCP server answered with an error."),
    _lt("The address answers, but not as an MCP server."),
    _lt("There is no MCP server at this address (HTTP 404). Check the path."),
    _lt("The address redirects to another place. Enter the final address."),
    _lt("The MCP server accepted the request without answering it."),
    _lt("The MCP server sent more data than is allowed."),
    _lt("The MCP server did not answer in time."),
    _lt("The connection to the MCP server broke."),
    _lt("The MCP server ended the session."),
    _lt("The MCP server sent a list that is not a list."),
    _lt("The MCP server sent a prompt without messages."),
    _lt("The MCP server sent a resource without contents."),
    _lt("The MCP server sent a completion without values."),
    _lt("The MCP server asks questions before it shows this."),
    _lt("The MCP server is left alone for a moment after it failed repeatedly."),
    _lt("The MCP server is busy with other calls. Try again in a moment."),
    _lt(
        "Too many of your requests wait for an answer already. Try again when one of them has ended."
    ),
    _lt("Too many MCP connections are in use. Try again in a moment."),
    _lt("This tool is switched off."),
    _lt("This operation is switched off."),
    _lt("This tool is new: who manages its server has to look at it first."),
    _lt("The tool's definition has changed: who manages its server has to accept it first."),
    _lt("The tool's definition was refused."),
    _lt("The tool describes its arguments in a way that no language model accepts."),
    _lt("The address is too long."),
    _lt("The address contains blanks or characters that do not belong there."),
    _lt("The address is not a valid URL."),
    _lt("The address must start with http:// or https://."),
    _lt("The address has no valid host."),
    _lt("The address must not contain a “#” part."),
    _lt(
        "Check the spelling of the host in the address. What is not public has to be allowed by the operator."
    ),
    _lt("Use a public address, or ask the operator to allow this one."),
    _lt("Check the port, that the server runs, and that no firewall is in between."),
    _lt(
        "The server needs a valid certificate for this host; one that it signed itself does not count."
    ),
    _lt("Check the path of the address, and the log of the server."),
    _lt("Enter a key, a header or a sign-in that the server accepts."),
    _lt("Check the path: MCP servers often answer at /mcp or /sse."),
    _lt("The server answers but does not tell its tools. Its log may say why."),
    _lt("Check the command in the configuration file, and that its program is installed."),
    _lt('Paste a JSON object such as {"mcpServers": {"name": {"url": "…"}}}.'),
    _lt("A server needs a name."),
    _lt("Each server must be a JSON object with a “url”."),
    _lt(
        "Servers that are started with a command come only from the operator's configuration file."
    ),
    _lt("The “url” is missing."),
    _lt("The “type” must be “http” or “sse”."),
    _lt("Replace the placeholder in the “url” first."),
)
_BY_SOURCE = {sentence._source: sentence for sentence in _KNOWN}

_WITH_VALUES = (
    _lt(
        "Python packages are missing on this host, or too old or too new: %(names)s."
        " The operator can install them with this app's requirements.txt, then restart Odoo."
    ),
    _lt("The program %(name)s of this MCP server is not installed on this host."),
    _lt("The folder %(name)s is not below one that the operator has released."),
    _lt("The folder %(name)s does not exist on this host."),
    _lt("A value does not fit: it must look like %(example)s."),
    _lt("The MCP server answered with an error (HTTP %(status)s)."),
    _lt("The MCP server refuses access. It says: %(said)s"),
    _lt("The key of this MCP server is missing: Odoo's environment has no %(name)s."),
)


def _pattern(sentence) -> re.Pattern:
    return re.compile(
        re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+)", re.escape(sentence._source)), re.DOTALL
    )


_PATTERNS = [(_pattern(sentence), sentence) for sentence in _WITH_VALUES]


def of_error(env, error) -> str:
    """What who manages a server may read of its trouble; an administrator also where in our network it happened.

    Who only uses the server reads ``error.outline``.
    """
    return with_inside(env, translated(env, error.at_length()), error.inside)


def with_inside(env, sentence: str, inside: str) -> str:
    if inside and env.user.has_group("woow_paas_platform.group_admin"):
        return f"{sentence} ({inside})"
    return sentence


def in_language(lang: str, sentence: str) -> str:
    """As `translated`, where there is no environment any more."""
    known = _BY_SOURCE.get(str(sentence))
    return known._translate(lang or "en_US") if known is not None else str(sentence)


def translated(env, sentence: str) -> str:
    """The sentence in the language of `env`, or as it is; what a program has said last stays its own."""
    sentence, _mark, words = str(sentence).partition(LAST_WORDS)
    said = _translated(env, sentence)
    if not words:
        return said
    return f"{said} " + env._("Its last words: %(words)s", words=words)


def _translated(env, sentence):
    if (known := _BY_SOURCE.get(sentence)) is not None:
        return env._(known)
    for pattern, known in _PATTERNS:
        if match := pattern.fullmatch(sentence):
            translation = env._(known)
            return translation % match.groupdict()
    return sentence
