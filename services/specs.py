"""Specifications: frozen plain data that the host hands to the engine; no record, and no secret in a repr, crosses."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal

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
Transport = Literal["auto", "streamable_http", "sse", "stdio"]
TrustLevel = Literal["none", "annotations", "full"]
OWN_RECORDS = "Odoo"  # stands for the server of tools that act on the host's own records


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSpec:
    """An OpenAI-compatible endpoint. `found_protocol` is what "auto" has found out before, if it has.

    `realm` is the host's database, as that of a `ServerSpec`.
    `fallback` is asked where this one is down before its first token, see `llm.failover`.
    `embedding_model` is asked at the same endpoint for what texts mean, where it has a name.
    """

    id: int
    base_url: str
    model: str
    realm: str = ""
    api_key: str = field(default="", repr=False)
    temperature: float | None = None
    max_tokens: int | None = None
    tool_protocol: Literal["native", "prompt", "auto"] = "native"
    found_protocol: Literal["", "native", "prompt"] = ""
    supports_vision: bool = False
    stream_usage: bool = True
    embedding_model: str = ""
    first_token_timeout: float = const.LLM_FIRST_TOKEN_TIMEOUT
    idle_timeout: float = const.LLM_IDLE_TIMEOUT
    fallback: "LlmSpec | None" = None

    @property
    def request_headers(self) -> dict[str, str]:
        """The key, for every request to the endpoint; answers uncompressed, so that their size and end are seen."""
        return {
            "Authorization": f"Bearer {self.api_key or 'none'}",
            "Accept-Encoding": "identity",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSpec:
    """OAuth of a server. `key` names the credential in the host's token store.

    The client is the registered one (`client_id`, given out by `client_issuer`), else the document at
    `client_metadata_url`, else one that is registered on the way. With `private_key` (PEM) the client
    signs assertions instead of sending a secret.
    """

    key: str
    redirect_uri: str = ""
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    scope: str = ""
    client_metadata_url: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_issuer: str = ""
    private_key: str = field(default="", repr=False)
    private_key_algorithm: str = "ES256"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """Access of a program to this host, see `services/sandbox`.

    :ivar required: whether it does not start where the host allows no sandbox
    :ivar network: whether it has this host's
    :ivar folders: that it reads and writes
    :ivar readable: what else it reads, beside its own program
    :ivar hidden: what it does not, wherever that lies
    :ivar runtime: ``node`` or ``python`` where its package is fetched, into a folder of `packages`, before it starts
    :ivar package: with its version
    :ivar program: of the package, empty for the only one
    :ivar args: of that program
    """

    required: bool = True
    network: bool = True
    folders: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    runtime: Literal["", "node", "python"] = ""
    package: str = ""
    program: str = ""
    args: tuple[str, ...] = ()
    packages: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One MCP server as the turn's user may use it. `headers` and `api_key` are secrets.

    `secrets` are values of `env` that are not repeated in what a stdio server writes on stderr.
    `realm` is where the host's `id` means something, its database; it comes back in what the pool tells.
    `person` is who asks, as the host numbers people: each gets a share of what a process has. 0 is Odoo itself.
    """

    id: int
    name: str
    realm: str = ""
    url: str = ""
    title: str = ""
    description: str = ""
    person: int = 0
    transport: Transport = "auto"
    era: Literal["auto", "legacy", "modern"] = "auto"
    last_variant: tuple[str, str] | None = None  # era and transport that worked last, tried first
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_key: str = field(default="", repr=False)
    oauth: OAuthSpec | None = None
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    sandbox: SandboxSpec | None = None
    trust_level: TrustLevel = "none"
    connect_timeout: float = const.CONNECT_TIMEOUT
    call_timeout: float = const.CALL_TIMEOUT
    sync_timeout: float = const.SYNC_TIMEOUT

    @property
    def owner(self) -> tuple[str, int]:
        """The host's name of the server, whatever is changed about it."""
        return self.realm, self.id

    @property
    def quota_key(self) -> tuple[str, int]:
        """Holder of the share of a process that its requests are taken from."""
        return self.realm, self.person

    @property
    def address(self) -> tuple[str, int, str]:
        """Identity of the server, independent of the credentials used."""
        return self.realm, self.id, self.url or " ".join(self.command)

    @property
    def request_headers(self) -> dict[str, str]:
        """The configured headers and the key, for every HTTP request to the server."""
        headers = dict(self.headers)
        if self.api_key and not any(name.lower() == "authorization" for name in headers):
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers

    @property
    def fingerprint(self) -> str:
        """Changes whenever address or credential changes, reveals neither, and is of one server of one database."""
        raw = json.dumps(
            [
                self.realm,
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
    """One operation of an HTTP service. `headers` and `query` carry its credential.

    `joined` are the query parameters whose lists are written with commas.
    """

    method: str
    path: str
    base_url: str
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    joined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool that the turn may use; `input_schema` is the server's own, not yet cleaned.

    `operation` is set where it is not a tool of an MCP server but an operation of an HTTP service.
    `definition` is the host's pin: it changes with whatever of the tool or its address was agreed to.
    `action_id` is the action type that offers it, with arguments that it has `fixed` (see `recall`) and
    `notes` about others; `problem` says why it cannot be offered now.
    `records` is set for tools of the host that act on its own records, see `services.records`; they have no server.
    `tokens` is about what its definition costs, 0 if that is not known yet.
    `is_blocked` is set where the host lets no call through: the tool is known, and neither offered nor found.
    """

    id: int
    server_id: int
    name: str
    alias: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)
    definition: str = ""
    operation: OperationSpec | None = None
    action_id: int = 0
    fixed: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    notes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    problem: str = ""
    records: Literal["", "read", "write"] = ""
    tokens: int = 0
    is_blocked: bool = False

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
    """One tool of `tools/list`. `warnings` are (code, excerpt), see `definition_scan`."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_rounds: int = const.MAX_ROUNDS
    confirm_round: int = 0  # the turn asks before this round; 0 is never
    definition_tokens: int = const.DEFINITION_TOKENS  # 0: all tools are offered, whatever they cost
    turn_tools_timeout: float = const.TURN_TOOLS_TIMEOUT
    turn_timeout: float = const.TURN_TIMEOUT
    llm_result_cap: int = const.LLM_RESULT_CAP
    ui_result_cap: int = const.UI_RESULT_CAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Earlier turns that the model is to sum up before it is asked.

    `messages` are theirs, `former` stands for those that were summed up before, `kept` are the turns that follow: the
    question, the last message of the request's history, stands behind them.
    `until` is the last of these turns and `path` the key of all up to it, see `context.summary.path_key`;
    `count` is how many messages people see of them, `room` how many tokens the model may be given to read.
    `note` is what the person wants kept in mind, `failures` how many attempts in a row have failed before,
    `left_out` whether the history without a new summary has lost its beginning.
    """

    messages: tuple[Mapping[str, Any], ...]
    kept: tuple[Mapping[str, Any], ...]
    until: int
    path: str
    count: int
    room: int
    former: tuple[Mapping[str, Any], ...] = ()
    note: str = ""
    failures: int = 0
    left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Context limit of a request to the model: `limit` tokens, 0 if it is not measured.

    `ratio` is how many tokens the provider counts for one that is estimated, `summary` about how many of the history
    are a summary. `is_command`: nothing is asked but to sum up.
    """

    limit: int = 0
    ratio: float = 1.0
    summary: int = 0
    compaction: Compaction | None = None
    is_command: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """Everything a turn needs, read in one transaction.

    `history` holds messages of earlier turns and, last, this turn's user message:
    ``{"role": "user", "content": str}``, with ``"pictures"`` (see `files`) if there are some,
    ``{"role": "assistant", "content": str, "tool_calls": [{"id", "alias", "arguments"}]}``,
    ``{"role": "tool", "call_id": str, "content": str, "outcome": Outcome}``, with ``"truncated": True`` if the
    host can give more of the result, see `reading`.
    `pictures` are those that calls of this turn have returned, by call id; for models with vision only.
    `key` is the turn's among those of all databases, and nobody outside can guess it.
    """

    turn_id: int
    conversation_id: int
    assistant: str
    llm: LlmSpec
    system_prompt: str
    history: tuple[Mapping[str, Any], ...]
    servers: tuple[ServerSpec, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    limits: Limits = Limits()
    context: Context = Context()
    pictures: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)


@dataclass(slots=True, kw_only=True)
class TurnProgress:
    """The part of a turn that is on disk after every step; JSON all the way down.

    `step` counts finished LLM answers, `round` finished LLM -> tools cycles,
    `messages` continues `TurnRequest.history`, `tools_seconds` is what calls have used of the turn's budget.
    `asides` are remarks between the answers: ``{"step": answers before it, "event": as the stream told it}``.
    `found_protocol` is how the model turned out to call tools, where that had to be found out; the host remembers it.
    `llm` is the id of the endpoint that is asked, where it is no longer the first one, and `llm_faults` what was wrong
    with those that were left: ``{"id", "code", "message", "detail"}``.
    `summary` is what the turn has made of the earlier ones: ``{"path": see `Compaction`, "event": as the stream told
    it}``; `summary_failures` counts the attempts in a row that have failed. `context` is what the last request held,
    ``{"limit", "used", "definitions", "summary", "messages", "ratio"}`` in tokens.
    The host sets `confirmed` to the round that the person let go on, or `sum_up` when it said “stop and answer”.
    `epoch` is the claim that saved it, and one more for each that was given back since: the others got no step further.
    """

    started: bool = False
    step: int = 0
    round: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    tools_seconds: float = 0.0
    found_protocol: Literal["", "native", "prompt"] = ""
    llm: int = 0
    llm_faults: list[dict[str, Any]] = field(default_factory=list)
    confirmed: int = 0
    sum_up: bool = False
    asides: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    summary_failures: int = 0
    context: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the LLM asked for. `id` is ours and unique; `tool` is None for an unknown alias.

    `arguments` is None when `raw_arguments` did not parse to an object.
    `refused` says why a call that is taken up again must not be made.
    `extra` is what the endpoint, named by its host, wants back with the call.
    `is_behind` says that a call before it, whose effect it may build on, waits for a person.
    """

    id: str
    alias: str
    round: int
    tool: ToolSpec | None = None
    server: ServerSpec | None = None
    arguments: dict[str, Any] | None = None
    raw_arguments: str = ""
    problem: str = ""
    refused: str = ""
    extra: tuple[str, Mapping[str, Any]] | None = None
    is_behind: bool = False

    @property
    def server_name(self) -> str:
        """Name of the tool's server, for people; empty for one of ours."""
        if self.server is not None:
            return self.server.name
        return OWN_RECORDS if self.tool is not None and self.tool.records else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """Result of one call. `text` is for the LLM (capped), `display` for the person.

    `whole` is all of a text that was cut; `warning` a sentence for the person about an answer that is odd.
    """

    outcome: Outcome
    text: str
    display: Any = ""
    duration_ms: int = 0
    bytes: int = 0
    truncated: bool = False
    whole: str = field(default="", repr=False)
    warning: str = ""
    attachments: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_error(self) -> bool:
        return self.outcome != "ok"

    def for_llm(self) -> "CallResult":
        """Without what its turn does not need once it is on disk."""
        return replace(self, display="", whole="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A call that was made. `raw` is the tool's own answer; where there is none, `error` may say why."""

    result: CallResult
    raw: Mapping[str, Any] | None = None
    error: Exception | None = None


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
    resume: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """End of `run_turn`. `error` is set for state "failed" only.

    A turn that waits does so for the calls without a result, or, with `confirm`, for the word to begin that round.
    """

    state: Literal["done", "stopped", "waiting", "failed"]
    text: str = ""
    error: Exception | None = None
    confirm: int = 0
