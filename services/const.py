"""Limits of the engine, each with its unit and its source."""

SYNC_TIMEOUT = 10.0  # s, discovery of one server's tools (PRD 000, NFR-1)
CONNECT_TIMEOUT = 5.0  # s, TCP + TLS + handshake of one server
START_TIMEOUT = 30.0  # s, the same of a program on the host; some import for 15 s
FETCH_TIMEOUT = 60.0  # s, the same of a package or an image that may have to be fetched
CALL_TIMEOUT = 30.0  # s, one tool call (PRD 000, NFR-1)
TURN_TOOLS_TIMEOUT = 120.0  # s, all tool calls of one turn together (PRD 000, NFR-1)
MAX_ROUNDS = 5  # LLM -> tools cycles of one turn (PRD 000, NFR-4)
MAX_SERVERS_PER_ASSISTANT = 10  # PRD 000, NFR-4
MAX_TOOLS_PER_SERVER = 50  # PRD 000, NFR-4
STARTERS = 4  # suggested questions that a new chat shows
STARTER_CHARS = 200  # of one of them
DEFINITION_TOKENS = (
    8_000  # about, of the tools' definitions in one request; more of them are looked up
)

MAX_DEFINITION = (
    128 * 1024
)  # bytes of one tool's definition, about; the largest that is known has 87 kB
SHORTEST_SECRET = 8  # characters of a secret; a shorter value may be part of any word
WIRE_CAP = 8 * 1024 * 1024  # bytes of one MCP response
PROMPT_CHARS = 32_000  # characters of one message of a person
LLM_RESULT_CAP = 24_000  # characters of one tool result that the LLM reads
UI_RESULT_CAP = 256 * 1024  # characters of one tool result that is stored and shown

LLM_FIRST_TOKEN_TIMEOUT = 90.0  # s, silence before the first chunk
LLM_IDLE_TIMEOUT = 60.0  # s, silence between two chunks
TURN_TIMEOUT = 900.0  # s, one turn while it runs (waiting for a person does not count)

TEXT_FLUSH_INTERVAL = 0.04  # s, text deltas are coalesced this long (SSE contract)
DB_RETRY = 0.2  # s between two tries while PostgreSQL is away
SESSION_ASK_TIMEOUT = 180.0  # s, a legacy server's question is held open in its session
SESSION_IDLE = 300.0  # s, a pooled session without a call is closed
MAX_IN_FLIGHT = 16  # requests of one process to one server at once
MAX_IN_FLIGHT_OF_ONE = 8  # the same, of one person
MAX_CALLS_OF_ONE = 8  # calls of one process's turns of one person, until their results are on disk
RUNNER_CAPACITY = 32  # turns at a time in one process
MAX_SESSIONS = RUNNER_CAPACITY * MAX_SERVERS_PER_ASSISTANT  # pooled HTTP sessions of one process
# of one person: a chat may use the servers of its assistant, of its cloud service and of its person
MAX_SESSIONS_OF_ONE = 3 * MAX_SERVERS_PER_ASSISTANT
MAX_PROCESSES = 50  # pooled stdio servers of one process; each costs the memory of a program
MAX_PROCESSES_OF_ONE = MAX_SERVERS_PER_ASSISTANT

CLIENT_NAME = "woow_paas_platform"  # what MCP servers see of us
CLIENT_VERSION = "1.0"
HTTP_HEADERS = {"accept-encoding": "identity", "user-agent": CLIENT_NAME}  # identity: caps count
MODERN_VERSION = "2026-07-28"  # the first revision without a handshake
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # with one, newest first
META_PREFIX = "io.modelcontextprotocol/"  # of the keys that MODERN_VERSION reserves in `_meta`
TASKS = "io.modelcontextprotocol/tasks"  # extension of 2026-07-28
CLOSING = "answer_"  # begins the ids of calls that the host makes with the answer, see `specs.ClosingCall`
