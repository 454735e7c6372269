"""Specifications: frozen plain data that the host hands to the engine; no record, and no secret in a repr, crosses."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from . import const

Outcome = Literal[
    "ok",
    "error",
    "denied",
    "timeout",
    "cancelled",
    "unknown_tool",
    "invalid_args",
    "unknown",
]
FAILED: tuple[Outcome, ...] = ("error", "invalid_args", "unknown_tool")  # another call may succeed
Transport = Literal["auto", "streamable_http", "sse", "stdio"]
TrustLevel = Literal["none", "annotations", "full"]
OWN_RECORDS = "Odoo"  # stands for the server of tools that act on the host's own records


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSpec:
    """An OpenAI-compatible endpoint with one of its models."""

    id: int  # the host's
    base_url: str  # with the version, such as ``https://api.example.com/v1``
    model: str
    database: str = ""  # the host's database, as that of a `ServerSpec`
    api_key: str = field(default="", repr=False)
    temperature: float | None = None  # None: the endpoint's own
    max_tokens: int | None = None  # of an answer
    tool_protocol: Literal["native", "prompt", "auto"] = "native"
    found_protocol: Literal["", "native", "prompt"] = ""  # what "auto" has found out before
    supports_vision: bool = False
    stream_usage: bool = True  # the endpoint is asked to count tokens
    embedding_model: str = ""  # asked at the same endpoint for embeddings; empty: none
    first_token_timeout: float = const.LLM_FIRST_TOKEN_TIMEOUT  # s
    idle_timeout: float = const.LLM_IDLE_TIMEOUT  # s between two pieces
    fallback: "LlmSpec | None" = None  # asked where this one is down, see `llm.failover`

    @property
    def request_headers(self) -> dict[str, str]:
        """The key, for every request to the endpoint; answers uncompressed, so that their size and end are seen."""
        return {
            "Authorization": f"Bearer {self.api_key or 'none'}",
            "Accept-Encoding": "identity",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSpec:
    """OAuth of a server.

    The client is the registered one (`client_id`), else the document at `client_metadata_url`, else one that is
    registered on the way.
    """

    key: str  # of the credential in the host's token store
    redirect_uri: str = ""
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    scope: str = ""  # names with blanks between them; empty: what the server asks for
    client_metadata_url: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_issuer: str = ""  # of the authorization server that gave out `client_id`
    private_key: str = field(default="", repr=False)  # PEM; signs assertions in place of a secret
    private_key_algorithm: str = "ES256"  # of JWS


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """Access of a program to this host, see `services/sandbox`."""

    required: bool = True  # it does not start where the host allows no sandbox
    network: bool = True  # that of this host
    folders: tuple[str, ...] = ()  # that it reads and writes
    readable: tuple[str, ...] = ()  # what else it reads, beside its own program
    hidden: tuple[str, ...] = ()  # what it does not, wherever that lies
    # Its package is fetched before it starts, into a folder of `packages`.
    runtime: Literal["", "node", "python"] = ""
    package: str = ""  # with its version
    program: str = ""  # of the package; empty: the only one
    args: tuple[str, ...] = ()  # of that program
    packages: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One MCP server as the turn's user may use it: over HTTP at `url`, or a program on this host, `command`."""

    id: int  # the host's
    name: str  # for models, and for people without a title
    database: str = ""  # the host's database, in which `id` is one; the pool tells it with the id
    url: str = ""
    title: str = ""  # for people, instead of the name
    description: str = ""  # for models
    person: int = 0  # who asks, each with a share of a process; 0 is the host itself
    transport: Transport = "auto"
    era: Literal["auto", "legacy", "modern"] = "auto"
    last_variant: tuple[str, str] | None = None  # era and transport that worked last, tried first
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # secrets
    api_key: str = field(default="", repr=False)  # sent as bearer token
    oauth: OAuthSpec | None = None
    command: tuple[str, ...] = ()  # program and arguments
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # variables of the program
    secrets: tuple[str, ...] = field(default=(), repr=False)  # values cut out of its stderr
    sandbox: SandboxSpec | None = None
    trust_level: TrustLevel = "none"  # how far the server's annotations of its tools count
    connect_timeout: float = const.CONNECT_TIMEOUT  # s
    call_timeout: float = const.CALL_TIMEOUT  # s, of one call
    sync_timeout: float = const.SYNC_TIMEOUT  # s, to read all tools

    @property
    def owner(self) -> tuple[str, int]:
        """The host's name of the server, whatever is changed about it."""
        return self.database, self.id

    @property
    def quota_key(self) -> tuple[str, int]:
        """Holder of the share of a process that its requests are taken from."""
        return self.database, self.person

    @property
    def address(self) -> tuple[str, int, str]:
        """Identity of the server, independent of the credentials used."""
        return self.database, self.id, self.url or " ".join(self.command)

    @property
    def request_headers(self) -> dict[str, str]:
        """The configured headers and the key, for every HTTP request to the server."""
        headers = dict(self.headers)
        if self.api_key and not any(name.lower() == "authorization" for name in headers):
            headers["Authorization"] = (
                f"Bearer {self.api_key.strip()}"  # a file ends with a line end
            )
        return headers

    @property
    def blotted(self) -> tuple[str, ...]:
        """Values that nobody reads in what the server logs: of its program, and of what it is sent."""
        in_address = [value for _name, value in parse_qsl(urlsplit(self.url).query)]
        values = (self.api_key, *self.headers.values(), *in_address)
        sent = {word for value in values for word in value.split()}
        known = {word for word in sent if len(word) >= const.SHORTEST_SECRET}
        return tuple(sorted(known.union(self.secrets), key=len, reverse=True))

    @property
    def fingerprint(self) -> str:
        """Changes whenever address or credential changes, reveals neither, and is of one server of one database."""
        raw = json.dumps(
            [
                self.database,
                self.id,
                self.url,
                self.transport,
                self.era,
                astuple(self.oauth) if self.oauth else None,
                sorted(self.headers.items()),
                self.api_key,
                self.command,
                sorted(self.env.items()),
            ]
        )
        return hashlib.sha256(raw.encode()).hexdigest()[:16]


def variant_of_record(transport: str, protocol_version: str) -> tuple[str, str] | None:
    """Era and transport that a host has written down, for `ServerSpec.last_variant`.

    >>> variant_of_record("sse", "2024-11-05")
    ('legacy', 'sse')
    """
    if not transport:
        return None
    return ("modern" if protocol_version >= const.MODERN_VERSION else "legacy"), transport


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSpec:
    """One operation of an HTTP service."""

    method: str
    path: str  # with ``{name}`` for each parameter in it
    base_url: str
    content_type: str = ""  # of the body; empty: JSON
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # its credential
    query: Mapping[str, str] = field(default_factory=dict, repr=False)  # the same, in the address
    joined: tuple[str, ...] = ()  # query parameters whose lists are written with commas


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool that the turn may use: of an MCP server, an operation of an HTTP service, or the host's own."""

    id: int  # the host's, as `server_id`; both 0: the host answers itself
    server_id: int
    name: str  # the server's
    alias: str  # what models call it, unique in a request
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)  # the server's, not yet cleaned
    output_schema: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)  # MCP's ``ToolAnnotations``
    definition: str = ""  # the host's pin: changes with what of tool or address was agreed to
    operation: OperationSpec | None = None  # instead of a tool of an MCP server
    action_id: int = 0  # the action type that offers it
    # Arguments that the action has fixed and its notes about others, by ``(location, name)``, see `openapi.recall`.
    fixed: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    notes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    problem: str = ""  # why it cannot be offered now
    records: Literal["", "read", "write"] = ""  # acts on the host's records, without a server
    tokens: int = 0  # about what its definition costs; 0: not known yet
    is_blocked: bool = False  # the host lets no call through: it is known, not offered or found

    @property
    def is_builtin(self) -> bool:
        """True if the host answers itself and not a server."""
        return bool(self.records) or not (self.id or self.server_id)

    @property
    def origin(self) -> list[Any]:
        """Identity of the tool under any alias, as JSON."""
        kind = "records" if self.records else "tool" if self.operation is None else "operation"
        return [kind, self.id, self.server_id, self.action_id, self.definition]

    @property
    def fixed_names(self) -> list[str]:
        """The fixed arguments as a person reads them: ``customer_id`` or ``path.customer_id``."""
        return [".".join(filter(None, slot)) for slot in self.fixed]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredTool:
    """One tool of `tools/list`, cleaned."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[tuple[str, str], ...] = ()  # ``(code, excerpt)``, see `definition_scan`


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one turn."""

    max_rounds: int = const.MAX_ROUNDS  # LLM -> tools cycles
    confirm_round: int = 0  # the turn asks before this round; 0 is never
    definition_tokens: int = const.DEFINITION_TOKENS  # 0: all tools are offered, whatever they cost
    turn_tools_timeout: float = const.TURN_TOOLS_TIMEOUT  # s, of all calls together
    turn_timeout: float = const.TURN_TIMEOUT  # s, of the turn while it runs
    llm_result_cap: int = const.LLM_RESULT_CAP  # characters of a result that the model reads
    ui_result_cap: int = const.UI_RESULT_CAP  # characters of a result that people see


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Earlier turns that the model is to sum up before it is asked. Messages are as in `TurnRequest.history`."""

    messages: tuple[Mapping[str, Any], ...]  # of these turns
    kept: tuple[Mapping[str, Any], ...]  # of the turns that follow; the question stands behind them
    until: int  # id of the last of these turns
    path: str  # key of all turns up to it, see `context.summary.path_key`
    count: int  # messages that people see of them
    room: int  # tokens that the model may be given to read
    former: tuple[Mapping[str, Any], ...] = ()  # stands for turns that were summed up before
    note: str = ""  # what the person wants kept in mind
    failures: int = 0  # attempts in a row that have failed before
    left_out: bool = False  # without a new summary the history has lost its beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderWords:
    """Instructions and files that a conversation's folder holds for it."""

    name: str
    said: str  # instructions of the person
    own: str  # of these, the person's own words
    files: tuple[Mapping[str, Any], ...]  # see `llm.files`
    is_foreign: bool  # neither the person nor the operator has written all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Context limit of a request to the model, in tokens."""

    limit: int = 0  # 0: not measured
    is_known: bool = (
        False  # the model takes no more; else that is a guess, and a provider may take it all
    )
    ratio: float = 1.0  # tokens that the provider counts for one that is estimated
    summary: int = 0  # about how many of the history are a summary
    compaction: Compaction | None = None
    is_command: bool = False  # nothing is asked but to sum up


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingCall:
    """Call that the host makes with the answer as the last step of a turn, once, and asked about like any other.

    :ivar arguments: without the answer
    :ivar path: to the argument that takes the answer, such as ``("values", "comment")``
    """

    tool: ToolSpec
    arguments: Mapping[str, Any]
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCall:
    """Call that a program has asked for: it is all that the turn does, asked about like any other, without a model."""

    alias: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """State of the budgets of a question.

    :ivar warning: sentence for its user about the one of which least is left; empty while there is enough
    :ivar is_saving: the fallback provider is to answer
    """

    warning: str = ""
    is_saving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """Owner of the costs of requests: the host's ids, 0 where there is none."""

    user: int = 0
    assistant: int = 0
    version: int = 0
    service: int = 0
    company: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """Everything a turn needs, read in one transaction.

    Messages of `history`, the last of which is this turn's:
    ``{"role": "user", "content": str}``, with ``"pictures"`` (see `llm.files`) if there are some,
    ``{"role": "assistant", "content": str, "tool_calls": [{"id", "alias", "arguments"}]}``,
    ``{"role": "tool", "call_id": str, "content": str, "outcome": Outcome}``, with ``"truncated": True`` if the
    host can give more of the result, see `turn.read_result`.
    """

    turn_id: int
    conversation_id: int
    assistant: str  # name, for people
    llm: LlmSpec
    system_prompt: str
    history: tuple[Mapping[str, Any], ...]
    preface: tuple[Mapping[str, Any], ...] = ()  # stands in front of it, and is never summed up
    servers: tuple[ServerSpec, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    limits: Limits = Limits()
    context: Context = Context()
    # By call id, what calls of this turn have returned: ``[{"name", "mimetype", "data"}]``; for models with vision.
    pictures: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict, repr=False)
    # “not from a tool” in the person's language, behind values of answers that no source holds; empty: no check.
    unsupported_sign: str = ""
    closing: ClosingCall | None = None
    given: GivenCall | None = None
    spending: Spending = Spending()
    payer: Payer = Payer()  # of what is asked for it outside of its steps
    key: str = field(default="", repr=False)  # the turn's among all databases; nobody can guess it


@dataclass(slots=True, kw_only=True)
class TurnProgress:
    """The part of a turn that is on disk after every step; JSON all the way down."""

    started: bool = False
    step: int = 0  # finished LLM answers
    round: int = 0  # finished LLM -> tools cycles
    messages: list[dict[str, Any]] = field(default_factory=list)  # continue `TurnRequest.history`
    usage: dict[str, int] = field(default_factory=dict)  # ``{"input_tokens", …, "duration_ms"}``
    tools_seconds: float = 0.0  # used of the turn's budget for calls
    found_protocol: Literal["", "native", "prompt"] = ""  # found out here, for the host to remember
    llm: int = 0  # id of the endpoint that is asked, where it is no longer the first one
    # What was wrong with those that were left: ``[{"id", "code", "message", "detail"}]``.
    llm_faults: list[dict[str, Any]] = field(default_factory=list)
    confirmed: int = 0  # set by the host: the round that the person let go on
    sum_up: bool = False  # the next answer is the last; set by the host, too, for “stop and answer”
    # Remarks between the answers: ``[{"step": answers before it, "event": as the stream told it}]``.
    asides: list[dict[str, Any]] = field(default_factory=list)
    # Of the earlier turns: ``{"path": see `Compaction`, "event": as the stream told it}``.
    summary: dict[str, Any] = field(default_factory=dict)
    summary_failures: int = 0  # attempts in a row
    # What the last request held in tokens: ``{"limit", "used", "definitions", "summary", "messages", "ratio"}``.
    context: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0  # the claim that saved it; one more for each claim given back since
    # Requests that have ended since the last save, for the host, which keeps nothing of it: ``[{"key", "usage",
    # "tools"}]``; a usage that the provider has not told is estimated, and says so: ``{…, "is_estimated": True}``.
    spent: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to a provider that is about to be sent.

    :ivar key: of the turn's requests, not used again under the same claim; outside of turns of all requests
    :ivar kind: "answer", "summary" or "protocol"; outside of turns also "embedding", "test", "judge" or "connection"
    :ivar llm_id: of the endpoint, the host's
    :ivar input_tokens: estimate
    :ivar output_limit: most tokens of the answer, None if nobody has limited it
    :ivar is_retry: the same was asked before
    :ivar is_fallback: the first endpoint was down
    """

    key: str
    kind: str
    llm_id: int
    model: str
    input_tokens: int
    step: int = 0
    output_limit: int | None = None
    is_retry: bool = False
    is_fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the LLM asked for."""

    id: str  # ours, unique
    alias: str  # as the model has written it
    round: int  # from 1
    tool: ToolSpec | None = None  # None for an unknown alias
    server: ServerSpec | None = None  # None for a tool of the host
    arguments: dict[str, Any] | None = None  # None where `raw_arguments` are no object
    raw_arguments: str = ""
    problem: str = ""  # for the model: why it is not made
    refused: str = ""  # the same, of a call that is taken up again
    extra: tuple[str, Mapping[str, Any]] | None = None  # host of the endpoint, what it wants back
    is_behind: bool = False  # a call before it, whose effect it may build on, waits for a person

    @property
    def server_name(self) -> str:
        """Name of the tool's server, for people; empty for one of ours."""
        if self.server is not None:
            return self.server.name
        return OWN_RECORDS if self.tool is not None and self.tool.records else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """Result of one call."""

    outcome: Outcome
    text: str  # for the LLM, capped
    display: Any = ""  # for the person: a text, or JSON
    duration_ms: int = 0
    bytes: int = 0  # of the answer, about
    truncated: bool = False
    whole: str = field(default="", repr=False)  # all of a text that was cut
    warning: str = ""  # a sentence for the person about an answer that is odd
    attachments: tuple[Mapping[str, Any], ...] = ()  # ``{"name", "mimetype", "data"}``, in Base64

    @property
    def is_error(self) -> bool:
        return self.outcome != "ok"

    def for_llm(self) -> "CallResult":
        """Leave out what its turn does not need once it is on disk."""
        return replace(self, display="", whole="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A call that was made."""

    result: CallResult
    raw: Mapping[str, Any] | None = None  # the tool's own answer
    error: Exception | None = None  # why there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The host's word at the start of a call.

    run: execute it now, with `arguments` if a person changed them, and with `resume` if it goes on after the
    server's questions · deny: `reason` goes to the LLM ·
    ask: a person decides, the turn waits · held: it would run, but is behind one that waits, and begins after it ·
    done: it has its result, take `result` ·
    answered: the host has made it itself, record `result` like any other ·
    lost: it was in flight when its runner died (the journal turns this into done, outcome unknown)
    """

    kind: Literal["run", "deny", "ask", "held", "done", "answered", "lost"]
    reason: str = ""
    result: CallResult | None = None
    arguments: dict[str, Any] | None = None
    resume: Mapping[str, Any] | None = None  # see `elicitation.retry_params`


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """End of `run_turn`."""

    state: Literal["done", "stopped", "waiting", "failed"]
    text: str = ""  # what the last step has said, Markdown
    error: Exception | None = None  # of "failed" only
    confirm: int = 0  # the round that "waiting" asks for; 0: it waits for calls without a result
