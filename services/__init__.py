"""Engine of an MCP host: pure Python, without Odoo. Its public API, for this addon and for other hosts:

Data that crosses the border, frozen, each field documented beside it
    `specs`: `LlmSpec`, `ServerSpec`, `ToolSpec`, `TurnRequest`, `TurnProgress`, `ToolCall`, `CallResult`, `TurnResult`
    `errors`: `EngineError` and its subclasses; the class says who has to act, its code names it on the wire
    `events`: events of a turn's log, one function for each type
    `sentence`: `Sentence`, text for people that knows its source, for the host's catalogue
    `const`: limits, each with its unit

Ports that a host implements
    `turn.ports`: `Store` for a queue of turns in a database; `Journal` for a turn without a queue
    `oauth.flow`: `TokenStore` for the tokens of sign-ins
    `metrics`: `Sink`; `traces`: `Tracer`; both are optional

Turns
    `turn.queue.runner`: `Runner` claims turns of any number of stores and runs them on one loop
    `turn.ai_client`: `run_turn` runs one turn, or what is left of it
    `turn.tools`: `TurnTools` offers the tools of a turn, and has them looked up when they are too many
    `turn.execution`: `execute` runs one call without a turn
    `approval.approval`: `decide` says whether a call runs, waits for a person or is refused
    `context.budget`: `plan` chooses what of a conversation a request holds

Language models
    `llm.connections`: `Connections` keeps what is connected; one for each loop
    `llm.reply`: `reply` asks for one answer without a turn
    `llm.files`: `read` and `question` make a message of a person's files
    `llm.diagnose`: `diagnose` tests an endpoint step by step

MCP servers
    `mcp.pool.pool`: `Pool` calls tools over sessions that it opens, shares, limits and closes
    `mcp.discovery.discovery`: `discover` reads the tools of a server; `mcp.discovery.diagnose`: `diagnose` tests it
    `mcp.features.prompts_resources`: `ServerFeatures` reads prompts and resources
    `oauth.flow`: `begin` and `OAuth` sign a person in; `oauth.revocation`: `revoke` gives tokens back
    `net.egress`: `EgressPolicy` says where connections may go

Webhooks
    `net.webhooks`: `new_secret`, `Delivery`, and `post` which signs and delivers it

MCP clients
    `gateway.server`: `exchange` answers their requests; `gateway.host`: `Host` has the tools of one caller
    `gateway.results`: `of_tool` and `failed` make the results of calls

HTTP services, documents, and text
    `openapi.loader`: `load` and `openapi.parser`: `read` find the operations of an OpenAPI document,
    `openapi.operations`: `perform` carries one out
    `schemas.schema`: `clean` makes an untrusted JSON Schema one that models accept
    `catalog.mcp_json`: `read` and `write` files of “mcpServers”
    `documents.reader`: `read` extracts the text of PDF and Office files in a process of its own
    `render.markdown`: `render` makes safe HTML of Markdown

Doubles for the tests of hosts
    `testing.fake_mcp`: `FakeMcp`; `testing.scripted_llm`: `ScriptedLlm`; `testing.fake_oauth`: `FakeOAuth`
    `testing.memory_journal`: `MemoryJournal`; `testing.memory_tokens`: `MemoryTokens`
    `testing.model_store`: `Database`, a store in memory

Nothing is imported here: each module is imported on its own, and the large ones load LangChain or the MCP SDK on first
use. What is not named may change at any time.
"""
