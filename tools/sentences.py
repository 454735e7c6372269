"""Translated sentences: the engine's fixed English ones in the reader's language.

`services/` knows no Odoo and so no translations; what it says passes through here on its way to a person.
Sentences that hold a name or a number stay as the engine wrote them, unless they match a pattern here.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from odoo.tools import formatLang
from odoo.tools.translate import LazyGettext, LazyTranslate

from ..services.errors import LAST_OUTPUT, EngineError

_lt = LazyTranslate(__name__)

_ADMINISTRATOR = " An administrator must check"
LONGEST = 2_000  # characters of a sentence of ours, with what it names

_KNOWN = (
    _lt("Something went wrong in the AI engine."),
    _lt("This assistant is no longer available to you."),
    _lt("You are no longer a member of this cloud service's workspace."),
    _lt("You have left this conversation."),
    _lt("You can no longer read this channel."),
    _lt("Something went wrong. An administrator can find the details in the log."),
    _lt("The configuration is not valid."),
    _lt("This MCP server is no longer in the operator's file."),
    _lt("The entry of this MCP server in the operator's file has an error. Settings show it."),
    _lt("This template is no longer enabled in the operator's file."),
    _lt("The operator has not enabled this template for cloud services."),
    _lt("The operator has not released this environment for the template."),
    _lt("The folder of this workspace cannot be made on this host. Ask the operator."),
    _lt("Values that this MCP server requires are missing. Enter them again."),
    _lt("A value is too long or contains invalid characters."),
    _lt("This address is not allowed: only public addresses can be reached."),
    _lt(
        "The earlier part of the conversation could not be summed up, so the assistant does not see its beginning."
    ),
    _lt("There is nothing to sum up yet."),
    _lt("Secrets cannot be saved: the operator's secret_key is not valid."),
    _lt("The stored secret cannot be read with the current key. Enter it again."),
    _lt(
        "This MCP server requires your own key. Add it in your AI settings, under Keys and permissions."
    ),
    _lt(
        "Your own key or sign-in for this MCP server is not used where others can read the conversation."
    ),
    _lt("MCP is switched off. Assistants answer without tools of MCP servers."),
    _lt("The provider of this assistant is switched off. An administrator can switch it on again."),
    _lt("This database is a neutralized copy. Switch this on first to use it from here."),
    _lt("The MCP server failed."),
    _lt("The MCP server cannot be reached. Check its address."),
    _lt("The connection timed out. Check the server's address."),
    _lt("The connection failed: no service is listening at this address and port."),
    _lt("The connection failed: the host is unknown, or its address is not public."),
    _lt("The MCP server closed the connection."),
    _lt("The program of this MCP server exited before it answered."),
    _lt(
        "The program of this MCP server did not start in time. The operator can increase start_timeout."
    ),
    _lt("The MCP server was switched off, or its conversation has ended."),
    _lt("The MCP server refused the credentials."),
    _lt("The MCP server requires you to sign in."),
    _lt("The MCP server's sign-in service requires a registered client."),
    _lt("The MCP server does not specify where to sign in."),
    _lt("This sign-in is unknown or has expired. Start it again."),
    _lt("The sign-in response does not name its issuer."),
    _lt("The sign-in response came from a different issuer."),
    _lt("The MCP server's sign-in redirects to a different server, which is not allowed here."),
    _lt("The sign-in was not completed."),
    _lt("The sign-in for this MCP server cannot be checked right now. Try again in a moment."),
    _lt("The MCP server's sign-in service does not support PKCE with S256, which is required."),
    _lt("The MCP server's sign-in service did not accept this client."),
    _lt("The MCP server's sign-in service did not grant access."),
    _lt("The MCP server's sign-in service returned an unknown type of token."),
    _lt(
        "The MCP server's sign-in service has moved. Enter the client registered with the new one."
    ),
    _lt("The MCP server requires more permissions than it can be granted."),
    _lt("The MCP server's sign-in service cannot be found."),
    _lt("The MCP server's sign-in service is not encrypted (https)."),
    _lt("The MCP server's sign-in service is for a different address."),
    _lt("The MCP server's sign-in service cannot be trusted: it names a different issuer."),
    _lt("The MCP server asked a question that nobody can answer here."),
    _lt("The MCP server is receiving too many requests. Try again later."),
    _lt("The MCP server answered with an error."),
    _lt("The address responds, but not as an MCP server."),
    _lt("There is no MCP server at this address (HTTP 404). Check the path."),
    _lt("The address redirects elsewhere. Enter the final address."),
    _lt("The MCP server accepted the request but did not answer it."),
    _lt("The MCP server sent more data than is allowed."),
    _lt("The MCP server did not answer in time."),
    _lt("The connection to the MCP server was lost."),
    _lt("The MCP server ended the session."),
    _lt("The MCP server sent an invalid list."),
    _lt("The MCP server sent a prompt without messages."),
    _lt("The MCP server sent a resource without contents."),
    _lt("The MCP server sent a completion without values."),
    _lt("The MCP server requires more information before it can show this."),
    _lt("Calls to the MCP server are paused after repeated failures."),
    _lt("The MCP server is busy with other calls. Try again in a moment."),
    _lt(
        "Too many of your requests are already waiting for an answer. Try again when one of them has finished."
    ),
    _lt("Too many MCP connections are in use. Try again in a moment."),
    _lt("An administrator has blocked this call."),
    _lt("A rule for this user blocks calls of this tool."),
    _lt("This tool is switched off."),
    _lt("This operation is switched off."),
    _lt("This tool is new. A manager of its server must review it first."),
    _lt("The tool's definition has changed. A manager of its server must accept it first."),
    _lt("The tool's definition was refused."),
    _lt("The tool describes its arguments in a way that language models do not accept."),
    _lt("The address is too long."),
    _lt("The address contains spaces or invalid characters."),
    _lt("The address is not a valid URL."),
    _lt("The address must start with http:// or https://."),
    _lt("The address has no valid host."),
    _lt("The address must not contain a “#” part."),
    _lt(
        "Check the spelling of the host in the address. Addresses that are not public must be allowed by the operator."
    ),
    _lt("Use a public address, or ask the operator to allow this one."),
    _lt("Not encrypted (http)."),
    _lt("Check the port, that the server is running, and that no firewall blocks the connection."),
    _lt(
        "The server needs a valid certificate for this host. Self-signed certificates are not accepted."
    ),
    _lt("Check the path of the address and the server's log."),
    _lt("Enter a key or a header that the server accepts, or sign in."),
    _lt("Check the path: MCP servers often answer at /mcp or /sse."),
    _lt("The server answers but does not list its tools. Check its log for the cause."),
    _lt("Check the command in the configuration file, and that its program is installed."),
    _lt("The language model failed."),
    _lt("The language model refused the API key."),
    _lt("The language model refused the API key. An administrator must check it."),
    _lt("The provider does not know this model."),
    _lt("The provider does not know this model. An administrator must check its name."),
    _lt("There is no OpenAI-compatible API at the provider's address."),
    _lt(
        "There is no OpenAI-compatible API at the provider's address. An administrator must check it."
    ),
    _lt("The language model is busy. Try again in a moment."),
    _lt("The quota of the language model is used up."),
    _lt("The quota of the language model is used up. An administrator must check it."),
    _lt("The host of the language model is unknown."),
    _lt("The language model cannot be reached. Try again in a moment."),
    _lt(
        "The host of the language model is unknown. An administrator must check the provider's address."
    ),
    _lt("Nothing answers at the address of the language model. Try again in a moment."),
    _lt("The certificate of the language model's host is not valid."),
    _lt(
        "The certificate of the language model's host is not valid. An administrator must check it."
    ),
    _lt("The provider of the language model reported an error. Try again in a moment."),
    _lt("The conversation is too long for this model. Try again: its beginning is summed up then."),
    _lt("The language model rejected the request."),
    _lt("The provider of the language model withheld the answer."),
    _lt(
        "This model does not support function calling. An administrator can enable tool calls in the prompt."
    ),
    _lt("The provider gives no embeddings by this model."),
    _lt("The language model did not answer in time. Try again."),
    _lt("The answer took too long and was stopped. Try again."),
    _lt("The answer of the language model was cut off or damaged. Try again."),
    _lt("The language model returned an empty answer. Try again."),
    _lt("The language model called tools instead of answering. Try again."),
    _lt("The language model did not answer, so another one does."),
    _lt("The model does not see pictures."),
    _lt("Function calling"),
    _lt("In the prompt"),
    _lt("Check the spelling of the host in the address."),
    _lt(
        "Check the port, that the model's server is running, and that no firewall blocks the connection."
    ),
    _lt("Check the path of the address. It usually ends with the version, such as /v1."),
    _lt("Enter a valid API key of this provider."),
    _lt("Choose one of the models that the provider offers, and check that it is running."),
    _lt("Choose one of the provider's embedding models, or leave the field empty."),
    _lt("Set tool calls to “Detect automatically” or “In the prompt”."),
    _lt("Switch off Supports Vision, or choose a model that sees pictures."),
    _lt('Paste a JSON object such as {"mcpServers": {"name": {"url": "…"}}}.'),
    _lt("A server needs a name."),
    _lt("Each server must be a JSON object with a “url”."),
    _lt("Servers started by a command can only be defined in the operator's configuration file."),
    _lt("The “url” is missing."),
    _lt("The “type” must be “http” or “sse”."),
    _lt("The “%(key)s” is not valid."),
    _lt("Replace the placeholder in the “url” first."),
    _lt("The address must not contain a user name or password; use the API key field."),
    _lt('The headers must be a JSON object such as {"X-API-Key": "…"}.'),
    _lt("The address of the resource is too long."),
    _lt("The certificate of the MCP server is not valid."),
    _lt("The connection was closed before the MCP server answered."),
    _lt("The MCP server compresses its answers although it was asked not to."),
    _lt("The MCP server does not support this revision of the protocol."),
    _lt("No revision of the protocol supports this transport."),
    _lt("The MCP server has no command."),
    _lt("This MCP server must run in a sandbox, which this host does not allow. Ask the operator."),
    _lt("The MCP server's process crashed and will be restarted in a moment."),
    _lt("The MCP server sent an invalid response."),
    _lt("The MCP server sent a response to a request that was not made."),
    _lt("The MCP server sent a result that is not an object."),
    _lt("The MCP server keeps asking questions."),
    _lt("The MCP server asks for input without specifying it."),
    _lt("The MCP server asks too many questions at once."),
    _lt("The MCP server requests something that this client does not support."),
    _lt("The MCP server asks for a form that is invalid or too large."),
    _lt("The MCP server asks the user to open an address that is not a web page."),
    _lt('This is not a file of templates, such as {"mcpTemplates": […]}.'),
    _lt("The file has this template twice."),
    _lt("Each template must be a JSON object with an “id” and a “name”."),
    _lt("The “id” must consist of small letters, digits and “_”."),
    _lt("The “name” is missing."),
    _lt("The “icon” must be a class of Font Awesome, such as “fa-plug”."),
    _lt("Two fields have the same name."),
    _lt("Each field must be a JSON object with a “name”."),
    _lt("The “name” of a field must consist of letters, digits and “_”."),
    _lt("A template with a command has no address, key or header."),
    _lt("Only a template with a command has such a field."),
    _lt("The “url” contains a key. Make it a field of the template."),
    _lt("The OpenAPI document is too large."),
    _lt("The OpenAPI document is neither valid JSON nor YAML."),
    _lt("The OpenAPI document uses YAML aliases, which are not supported."),
    _lt("The OpenAPI document describes no operation."),
    _lt("The document is not an OpenAPI 3.0 or 3.1 document."),
    _lt("The service cannot be reached. Check its address."),
    _lt("The service did not answer in time."),
    _lt("The connection to the service was lost."),
    _lt("The service's answer cannot be read."),
    _lt("The service sent more data than is allowed."),
    _lt("The service refused the credentials."),
    _lt("The service is receiving too many requests. Try again later."),
    _lt("The service compresses its answers although it was asked not to."),
    _lt("A part of the address is missing."),
    _lt("The condition is not a complete expression."),
    _lt("The condition is nested too deeply."),
    _lt("The condition cannot be read."),
    _lt("It is not known whether the tool has taken effect."),
    _lt("The connection was interrupted while this call ran. It may or may not have taken effect."),
    _lt("The call was interrupted. It is not known whether the tool has taken effect."),
    _lt("The user or an administrator did not allow this call."),
    _lt("The user stopped the turn before this call had ended."),
    _lt(
        "The time for tools in this turn is used up, so the tool was not called."
        " Answer with what you have and say what is missing."
    ),
    _lt(
        "The time for tools in this turn was used up during this call, so it was ended and nothing was changed."
    ),
    _lt("Others keep changing these records, so nothing was changed. Try again in a moment."),
    _lt(
        "The connection to the database was lost each time that this was tried. Nothing was changed."
    ),
    _lt(
        "This failed after something had been sent to others. No record was changed, "
        "but what was sent may have taken effect."
    ),
    _lt(
        "The tool is no longer what it was when this call was asked for, so the call was not made."
        " If it is still wanted, ask for it again."
    ),
    _lt("The arguments were cut off. Call the tool again with shorter arguments."),
    _lt("The arguments are not a valid JSON object."),
    _lt("The arguments are not a JSON object."),
    _lt("The tool failed without a reason."),
    _lt("The tool returned nothing."),
    _lt("Its server is not available."),
    _lt("Its name cannot be offered to a language model."),
    _lt("The answer reached its maximum length and was cut off."),
    _lt("The file cannot be attached."),
    _lt("The file is protected with a password. Remove the password, then attach it again."),
    _lt("There is no text in the file. If it was scanned, attach pictures of its pages instead."),
    _lt("The file is damaged or incomplete and cannot be read."),
    _lt("The file is too complex to be read here. Attach a smaller part of it."),
    _lt(
        "Files of this type cannot be read. Attach a picture (PNG, JPEG, GIF, WebP), a PDF, a Word,"
        " PowerPoint or Excel file (.docx, .pptx, .xlsx), or a text file."
    ),
    _lt("Other files are being read right now. Try again in a moment."),
)
_LAST = _lt("Last output: %(words)s")
_BY_SOURCE = {sentence._source: sentence for sentence in _KNOWN}

_WITH_VALUES = (
    _lt(
        "Python packages are missing on this host, or too old or too new: %(names)s."
        " The operator can install them with this app's requirements.txt, then restart Odoo."
    ),
    _lt("The program %(name)s of this MCP server is not installed on this host."),
    _lt("The package %(name)s of this MCP server cannot be fetched."),
    _lt("The package %(name)s of this MCP server has no program."),
    _lt("The folder %(name)s is not inside a folder that the operator has released."),
    _lt("The folder %(name)s does not exist on this host."),
    _lt("The host %(name)s is not among those that the operator allows."),
    _lt("A value does not have the expected format, such as %(example)s."),
    _lt("The provider does not know this model. Similar names: %(names)s."),
    _lt("The MCP server answered with an error (HTTP %(status)s)."),
    _lt("The MCP server denied access: %(said)s"),
    _lt("The key of this MCP server is missing: the environment variable %(name)s is not set."),
    _lt("There may be at most %(count)s headers."),
    _lt("“%(name)s” is not a valid header name."),
    _lt("The header “%(name)s” is set automatically."),
    _lt("The header “%(name)s” is defined twice."),
    _lt("The value of the header “%(name)s” must be a string."),
    _lt("The value of the header “%(name)s” is too long."),
    _lt(
        "The value of the header “%(name)s” may only contain printable ASCII characters"
        " and must not begin or end with a space."
    ),
    _lt("The MCP server answered: %(said)s"),
    _lt("Calls to the MCP server are paused after %(count)s failures in a row. %(reason)s"),
    _lt("The address responds, but not as an MCP server. Tried %(tried)s"),
    _lt("At most %(count)s servers can be imported at once."),
    _lt("At most %(count)s templates can be imported at once."),
    _lt("A template has no “%(name)s”."),
    _lt("The “fields” must be a list of at most %(count)s."),
    _lt("The “%(name)s” must be a text of at most %(count)s characters."),
    _lt("The “%(name)s” must be one of: %(choices)s."),
    _lt("The “%(name)s” of a field must be true or false."),
    _lt("The “url” names %(name)s, which is no field of the address."),
    _lt("Only %(names)s are started by a command."),
    _lt("There is no document at this address (HTTP %(status)s)."),
    _lt("The service answered with an error (HTTP %(status)s): %(said)s"),
    _lt("The service answered with an error (HTTP %(status)s)."),
    _lt("The value of “%(name)s” cannot be part of an address."),
    _lt("A condition has at most %(count)s characters."),
    _lt(
        "“%(part)s” cannot be used in a condition: compare arguments, and join comparisons with and, or, not."
    ),
    _lt("The tool “%(name)s” was left out. %(reason)s"),
    _lt("These tools were left out: %(names)s. %(reason)s"),
    _lt("%(count)s more tools were left out."),
    _lt("A language model takes at most %(count)s tools."),
    _lt("The arguments are not valid for the tool: %(problem)s."),
    _lt("The result of “%(name)s” is not what the tool promises: %(problem)s."),
    _lt("There is no tool called %(name)s."),
    _lt("The tool did not answer within %(seconds)s s. %(reason)s"),
    _lt("The call failed (%(name)s)."),
    _lt("The connection to the MCP server was lost. %(reason)s"),
    _lt("The connection was closed before the MCP server answered. %(reason)s"),
    _lt(
        "This failed after something had been sent to others: %(reason)s No record was changed, "
        "but what was sent may have taken effect."
    ),
)


def _pattern(sentence) -> re.Pattern:
    return re.compile(
        re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+)", re.escape(sentence._source)), re.DOTALL
    )


_PATTERNS = [(_pattern(sentence), sentence) for sentence in _WITH_VALUES]


LANGUAGES = {path.stem for path in Path(__file__).parents[1].glob("i18n/*.po")}


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of an error.

    :ivar lang: code of a language, None for English
    :ivar manages: manages the server, provider or file that the error is about
    :ivar administers: administers all of them, so may read of our network's inside
    """

    lang: str | None = None
    manages: bool = False
    administers: bool = False

    @classmethod
    def manager(cls, env):
        """The user of `env`, who manages what errors are about."""
        return cls(env.lang, True, env.user.has_group("woow_paas_platform.group_admin"))


def for_reader(error: EngineError, reader: Reader) -> str:
    """The error's sentence in the reader's language, with as much of its inside as the reader may know."""
    if not reader.manages:
        return in_language(reader.lang, error.outline)
    sentence = in_language(reader.lang, error.at_length().partition(_ADMINISTRATOR)[0])
    return f"{sentence} ({error.inside})" if error.inside and reader.administers else sentence


def with_inside(env, sentence: str, inside: str) -> str:
    if inside and env.user.has_group("woow_paas_platform.group_admin"):
        return f"{sentence} ({inside})"
    return sentence


def knows(sentence: str) -> bool:
    """Whether it is one of the engine's fixed sentences."""
    return sentence in _BY_SOURCE


def in_language(lang: str | None, sentence: str | LazyGettext) -> str:
    """As `translated`, where there is no environment any more."""
    if isinstance(sentence, LazyGettext):
        return sentence._translate(lang or "en_US")
    return _with_output(str(sentence), lambda known: known._translate(lang or "en_US"))


def translated(env, sentence: str) -> str:
    """The sentence in the language of `env`, or as it is; what a program has said last stays its own."""
    return _with_output(str(sentence), env._)


def for_managers(env, sentence: str) -> str:
    """As `translated`, but who can mend it is not sent to an administrator."""
    return translated(env, sentence.partition(_ADMINISTRATOR)[0])


def duration(env, ms: int) -> str:
    """As the client writes it: `1.2 s`, from a minute on `2 min 5 s`."""
    if ms < 60_000:
        return env._("%(seconds)s s", seconds=formatLang(env, ms / 1000, digits=1))
    minutes, seconds = divmod(round(ms / 1000), 60)
    return env._("%(minutes)s min %(seconds)s s", minutes=minutes, seconds=seconds)


def _with_output(sentence, translate):
    sentence, _mark, words = sentence.partition(LAST_OUTPUT)
    translated = _translation(sentence, translate)
    return f"{translated} {translate(_LAST) % {'words': words}}" if words else translated


def _translation(sentence, translate):
    """Also of the sentences inside: why calls are paused, why a tool was left out."""
    if (known := _BY_SOURCE.get(sentence)) is not None:
        return translate(known)
    if len(sentence) > LONGEST:
        return sentence
    for pattern, known in _PATTERNS:
        if match := pattern.fullmatch(sentence):
            values = match.groupdict().items()
            return translate(known) % {
                name: _translation(value, translate) for name, value in values
            }
    return sentence
