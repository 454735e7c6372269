"""Error hierarchy: everything that can go wrong in the engine, on one screen; the class is the policy.

    EngineError                 code: stable snake_case; str(e): a sentence for a person
    ├── ConfigError             an admin or owner must change a setting
    │   ├── BlockedAddress      egress guard refused the address
    │   ├── SecretUnreadable    a stored secret does not decrypt
    │   ├── SecretKeyInvalid    the operator's key is none, so nothing can be encrypted
    │   ├── KeyMissing          the server wants a key of the person who asks
    │   ├── PackageMissing      something that is imported is not installed any more
    │   ├── SandboxUnavailable  a program must not run without a sandbox, and this host allows none
    │   ├── ServerFileError     the operator's file of servers does not say what it must
    │   └── ConfigurationFileError  a file of assistants is not taken, nor any part of it; `code` says why
    ├── ServerError             one MCP server, the others go on
    │   ├── ConnectFailed       the request never left us: safe to retry
    │   │   └── HostUnreachable host unknown, or not public: nobody learns which names exist inside
    │   ├── AuthRequired        401/403
    │   │   └── SignInRequired  a person has to sign in at `url`
    │   ├── ElicitationRequired a person has to answer `questions` before the call goes on
    │   ├── RateLimited         429, `retry_after` in seconds
    │   ├── ServerRefused       any other HTTP error, `status`, or JSON-RPC error, `rpc_code` and `data`
    │   ├── ProtocolError       the answer is not MCP
    │   ├── ResultTooLarge      more bytes than the cap
    │   ├── ServerTimeout       no answer in time; the call may have happened
    │   ├── ServerPaused        it failed repeatedly and is not asked for a while
    │   ├── ServerBusy          too many calls to it at once
    │   ├── PoolFull            too many sessions at once, whatever the server
    │   ├── SessionLost         the line broke in flight; the call may have happened
    │   │   └── SessionExpired  the server forgot the session before the call ran: safe to retry
    │   └── UnusableSchema      one tool cannot be offered to an LLM
    ├── LlmError                the turn ends with an `error` event
    │   ├── LlmAuthFailed  LlmModelNotFound  LlmNoApi  LlmRateLimited  LlmUnavailable
    │   ├── LlmContextTooLong  LlmRejected  LlmNoTools
    │   └── LlmTimeout  LlmProtocolError  LlmSwitchedOff
    ├── FileError               a file that a person attached is not taken
    │   ├── FileEncrypted  FileWithoutText  FileUnreadable  FileTooComplex  UnsupportedFile
    │   └── ReaderBusy          other files are being read: safe to retry
    ├── BudgetExhausted         a budget is used up; retrying does not help before its next period
    ├── LeaseLost               another runner owns the turn: write nothing more
    └── TurnGone                the turn was deleted while it ran

`code` and the text of the class are what may go on the wire; `detail` is for the log only.
"""

from collections.abc import Mapping

from . import text
from .sentence import Sentence, _lt, joined


class EngineError(Exception):
    """Base of all errors of the engine.

    :param message: a full sentence that a person can act on, free of secrets
    :param detail: for the log, never sent to a client
    :ivar last_output: of the program behind a server, for those who may read its output
    """

    code = "engine_error"
    default_message = _lt("Something went wrong in the AI engine.")
    last_output = ""

    def __init__(self, message: str = "", *, detail: str = ""):
        super().__init__(message or self.default_message)
        self.detail = detail

    def full_message(self) -> str:
        """The sentence for who manages what failed, with the program's last output if there is any."""
        sentence = for_managers(str(self))
        if not self.last_output:
            return sentence
        return joined(sentence, _lt("Last output: %(words)s", words=self.last_output))

    @property
    def public_message(self) -> str:
        """Message for users of a server: nothing of this host, its files or its environment."""
        return str(self)

    @property
    def network_detail(self) -> str:
        """Network detail for administrators: where in our own network it happened."""
        return ""


class ConfigError(EngineError):
    code = "config_error"
    default_message = _lt("The configuration is not valid.")

    @property
    def public_message(self) -> str:
        return self.default_message if type(self) is ConfigError else str(self)


class BlockedAddress(ConfigError):
    code = "blocked_address"
    default_message = _lt("This address is not allowed: only public addresses can be reached.")

    @property
    def network_detail(self) -> str:
        return self.detail


class McpOff(ConfigError):
    code = "mcp_off"
    default_message = _lt("MCP is switched off. Assistants answer without tools of MCP servers.")


class SecretUnreadable(ConfigError):
    code = "secret_unreadable"
    default_message = _lt("The stored secret cannot be read with the current key. Enter it again.")


class SecretKeyInvalid(ConfigError):
    code = "secret_key_invalid"
    default_message = _lt("Secrets cannot be saved: the operator's secret_key is not valid.")


class KeyMissing(ConfigError):
    code = "key_missing"
    default_message = _lt(
        "This MCP server requires your own key. Add it in your AI settings, under Keys and permissions."
    )


class PackageMissing(ConfigError):
    """:param names: of the packages, as pip knows them"""

    code = "package_missing"

    def __init__(self, names: str):
        super().__init__(
            _lt(
                "Python packages are missing on this host, or too old or too new: %(names)s. The "
                "operator can install them with this app's requirements.txt, then restart Odoo.",
                names=names,
            )
        )


class SandboxUnavailable(ConfigError):
    code = "sandbox_unavailable"
    default_message = _lt(
        "This MCP server must run in a sandbox, which this host does not allow. Ask the operator."
    )


class ServerFileError(ConfigError):
    """A fault in the file, with the file's name, the line and the key."""

    code = "server_file"


class ConfigurationFileError(ConfigError):
    """Nothing of the file is taken.

    :param code: ``file_too_large``, ``invalid_json``, ``unsupported_version``, ``unknown_field`` or ``invalid_field``
    """

    def __init__(self, message: str, code: str = "invalid_field"):
        super().__init__(message)
        self.code = code


class ServerError(EngineError):
    """`safe_to_retry`: the request certainly did not reach the tool."""

    code = "server_error"
    default_message = _lt("The MCP server failed.")
    safe_to_retry = False


class ConnectFailed(ServerError):
    code = "connect_failed"
    default_message = _lt("The MCP server cannot be reached. Check its address.")
    safe_to_retry = True


class HostUnreachable(ConnectFailed):
    default_message = _lt(
        "The connection failed: the host is unknown, or its address is not public."
    )

    @property
    def network_detail(self) -> str:
        return self.detail


class AuthRequired(ServerError):
    code = "auth_required"
    default_message = _lt("The MCP server refused the credentials.")


class SignInRequired(AuthRequired):
    """`url` is for the browser of the person, `state` comes back from there."""

    code = "sign_in_required"
    default_message = _lt("The MCP server requires you to sign in.")

    def __init__(self, message: str = "", *, detail: str = "", url: str = "", state: str = ""):
        super().__init__(message, detail=detail)
        self.url = url
        self.state = state


class ElicitationRequired(ServerError):
    """The server waits for answers of the user and holds nothing meanwhile.

    :ivar questions: key of the server -> `services.mcp.session.elicitation.ElicitRequest`
    :ivar more: goes back with the answers; None if the call was refused and is to be made again
    """

    code = "input_required"
    default_message = _lt("The MCP server asked a question that nobody can answer here.")

    def __init__(
        self, message: str = "", *, detail: str = "", questions: Mapping, more: Mapping | None
    ):
        super().__init__(message, detail=detail)
        self.questions = questions
        self.more = more


class RateLimited(ServerError):
    code = "rate_limited"
    default_message = _lt("The MCP server is receiving too many requests. Try again later.")

    def __init__(self, message: str = "", *, detail: str = "", retry_after: float | None = None):
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class ServerRefused(ServerError):
    code = "server_refused"
    default_message = _lt("The MCP server answered with an error.")

    def __init__(
        self,
        message: str = "",
        *,
        detail: str = "",
        status: int = 0,
        rpc_code: int = 0,
        data: object = None,
    ):
        super().__init__(message, detail=detail)
        self.status = status
        self.rpc_code = rpc_code
        self.data = data

    @classmethod
    def of_rpc(cls, code: int, message: str, data: object = None) -> "ServerRefused":
        """The server answered with a JSON-RPC error.

        :param code: of JSON-RPC
        :param data: what came with it, as the server has sent it
        """
        reason = text.one_line(str(message), 500) or "no reason"
        return cls(
            _lt("The MCP server answered: %(said)s", said=reason),
            detail=f"JSON-RPC error {code}",
            rpc_code=code,
            data=data,
        )


class ProtocolError(ServerError):
    code = "protocol_error"
    default_message = _lt("The address responds, but not as an MCP server.")


class ResultTooLarge(ServerError):
    code = "result_too_large"
    default_message = _lt("The MCP server sent more data than is allowed.")


class ServerTimeout(ServerError):
    code = "timeout"
    default_message = _lt("The MCP server did not answer in time.")


class ServerPaused(ServerError):
    """`retry_after`: seconds until it is asked again."""

    code = "server_paused"
    default_message = _lt("Calls to the MCP server are paused after repeated failures.")

    def __init__(self, message: str = "", *, detail: str = "", retry_after: float = 0.0):
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class ServerBusy(ServerError):
    code = "server_busy"
    default_message = _lt("The MCP server is busy with other calls. Try again in a moment.")


class PoolFull(ServerError):
    code = "pool_full"
    default_message = _lt("Too many MCP connections are in use. Try again in a moment.")


class SessionLost(ServerError):
    code = "session_lost"
    default_message = _lt("The connection to the MCP server was lost.")


class SessionExpired(SessionLost):
    default_message = _lt("The MCP server ended the session.")
    safe_to_retry = True


class UnusableSchema(ServerError):
    code = "unusable_schema"
    default_message = _lt(
        "The tool describes its arguments in a way that language models do not accept."
    )


LLM_QUOTA_USED_UP = _lt(
    "The quota of the language model is used up. An administrator must check it."
)
LLM_HOST_UNKNOWN = _lt(
    "The host of the language model is unknown. An administrator must check the provider's address."
)
LLM_CERTIFICATE_INVALID = _lt(
    "The certificate of the language model's host is not valid. An administrator must check it."
)


class LlmError(EngineError):
    code = "llm_error"
    default_message = _lt("The language model failed.")


class LlmAuthFailed(LlmError):
    code = "llm_auth_failed"
    default_message = _lt("The language model refused the API key. An administrator must check it.")


class LlmModelNotFound(LlmError):
    code = "llm_model_not_found"
    default_message = _lt(
        "The provider does not know this model. An administrator must check its name."
    )


class LlmNoApi(LlmError):
    code = "llm_no_api"
    default_message = _lt(
        "There is no OpenAI-compatible API at the provider's address. An administrator must check it."
    )


class LlmRateLimited(LlmError):
    code = "llm_rate_limited"
    default_message = _lt("The language model is busy. Try again in a moment.")

    def __init__(self, message: str = "", *, detail: str = "", retry_after: float | None = None):
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class LlmUnavailable(LlmError):
    code = "llm_unavailable"
    default_message = _lt("The language model cannot be reached. Try again in a moment.")


class LlmContextTooLong(LlmError):
    code = "llm_context_too_long"
    default_message = _lt(
        "The conversation is too long for this model. Try again: its beginning is summed up then."
    )


class LlmRejected(LlmError):
    code = "llm_rejected"
    default_message = _lt("The language model rejected the request.")


class LlmNoTools(LlmError):
    code = "llm_no_tools"
    default_message = _lt(
        "This model does not support function calling. An administrator can enable tool calls "
        "in the prompt."
    )


class LlmNoEmbeddings(LlmError):
    code = "llm_no_embeddings"
    default_message = _lt("The provider offers no embeddings with this model.")


class LlmTimeout(LlmError):
    code = "llm_timeout"
    default_message = _lt("The language model did not answer in time. Try again.")


class LlmProtocolError(LlmError):
    code = "llm_protocol_error"
    default_message = _lt("The answer of the language model was cut off or damaged. Try again.")


class LlmSwitchedOff(LlmError):
    code = "llm_switched_off"
    default_message = _lt(
        "The provider of this assistant is switched off. An administrator can switch it on again."
    )


class FileError(EngineError):
    """Its sentence says what its person can do."""

    code = "file_error"
    default_message = _lt("The file cannot be attached.")


class FileEncrypted(FileError):
    code = "file_encrypted"
    default_message = _lt(
        "The file is protected with a password. Remove the password, then attach it again."
    )


class FileWithoutText(FileError):
    code = "file_without_text"
    default_message = _lt(
        "There is no text in the file. If it was scanned, attach pictures of its pages instead."
    )


class FileUnreadable(FileError):
    code = "file_unreadable"
    default_message = _lt("The file is damaged or incomplete and cannot be read.")


class FileTooComplex(FileError):
    code = "file_too_complex"
    default_message = _lt("The file is too complex to be read here. Attach a smaller part of it.")


class UnsupportedFile(FileError):
    code = "unsupported_file"
    default_message = _lt(
        "Files of this type cannot be read. Attach a picture (PNG, JPEG, GIF, WebP), a PDF, a Word, "
        "PowerPoint or Excel file (.docx, .pptx, .xlsx), or a text file."
    )


class ReaderBusy(FileError):
    code = "reader_busy"
    default_message = _lt("Other files are being read right now. Try again in a moment.")


class BudgetExhausted(EngineError):
    """Its sentence names the budget, its amount and when it starts again."""

    code = "budget_exhausted"
    default_message = _lt("The budget is used up.")


class LeaseLost(EngineError):
    code = "lease_lost"
    default_message = _lt("Another process continues this turn.")


class TurnGone(EngineError):
    code = "turn_gone"
    default_message = _lt("The turn no longer exists.")


# What those read who can mend it themselves, instead of being sent to an administrator.
MANAGERS_READ: Mapping[str, Sentence] = {
    LlmAuthFailed.default_message: _lt("The language model refused the API key."),
    LlmModelNotFound.default_message: _lt("The provider does not know this model."),
    LlmNoApi.default_message: _lt("There is no OpenAI-compatible API at the provider's address."),
    LLM_QUOTA_USED_UP: _lt("The quota of the language model is used up."),
    LLM_HOST_UNKNOWN: _lt("The host of the language model is unknown."),
    LLM_CERTIFICATE_INVALID: _lt("The certificate of the language model's host is not valid."),
}


def for_managers(sentence: str) -> str:
    """The same without sending its reader to an administrator."""
    return MANAGERS_READ.get(sentence, sentence)
