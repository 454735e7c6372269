"""An MCP server that offers the tools, prompts and resources which the official suite calls: ``catalogue.py PORT``.

The suite names each of them, and says what it answers.
"""

import asyncio
import base64
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Message, UserMessage
from mcp.shared.exceptions import MCPError
from pydantic import Field

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()
TASKS = "io.modelcontextprotocol/tasks"
PAUSE = 0.05  # s
STREAMED = 5.5  # s, longer than Odoo waits until a call is answered in a stream
LONG = 1.0  # s, longer than Odoo waits until a call becomes a task
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)

Function = TypeVar("Function", bound=Callable[..., object])


class Catalogue(MCPServer):
    """A schema that no function's arguments make is put in by hand."""

    async def list_tools(self) -> list[types.Tool]:
        tools = await super().list_tools()
        for offered in tools:
            if offered.name == "json_schema_2020_12_tool":
                offered.input_schema = SCHEMA
        return tools


server = Catalogue("conformance")


def tool(function: Function) -> Function:
    """Offer a tool under the function's name; its result is content, never structured."""
    server.add_tool(function, annotations=READS, structured_output=False)
    return function


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, mime_type: str, said: str) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=said)
    return types.EmbeddedResource(type="resource", resource=resource)


@tool
def test_simple_text() -> str:
    """Answer with text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> types.CallToolResult:
    """Answer with a picture."""
    return types.CallToolResult(content=[image()])


@tool
def test_audio_content() -> types.CallToolResult:
    """Answer with a sound."""
    sound = types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")
    return types.CallToolResult(content=[sound])


@tool
def test_embedded_resource() -> types.CallToolResult:
    """Answer with a resource."""
    said = "This is an embedded resource content."
    return types.CallToolResult(content=[embedded("test://embedded-resource", "text/plain", said)])


@tool
def test_multiple_content_types() -> types.CallToolResult:
    """Answer with text, a picture and a resource."""
    data = '{"test":"data","value":123}'
    resource = embedded("test://mixed-content-resource", "application/json", data)
    said = text("Multiple content types test:")
    return types.CallToolResult(content=[said, image(), resource])


@tool
def test_error_handling() -> types.CallToolResult:
    """Always fail."""
    said = "This tool intentionally returns an error for testing"
    return types.CallToolResult(content=[text(said)], is_error=True)


@tool
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    await in_three_steps(lambda step: context.report_progress(step * 50, 100))
    return "Progress: done"


@tool
async def test_tool_with_logging(context: Context) -> str:
    """Log three times."""
    said = ("Tool execution started", "Tool processing data", "Tool execution completed")
    await in_three_steps(lambda step: context.info(said[step]))
    return "Logged"


async def in_three_steps(work: Callable[[int], Awaitable[object]]) -> None:
    for step in range(3):
        if step:
            await asyncio.sleep(PAUSE)
        await work(step)


@tool
async def test_logging_tool(context: Context) -> str:
    """Log once."""
    await context.info("Logged")
    return "Logged"


@tool
def json_schema_2020_12_tool() -> str:
    """Take arguments of many keywords."""
    return "Taken"


@tool
def test_custom_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "",
) -> str:
    """Take an argument that comes as a header, too."""
    return region


# Questions to the client's user, which a client of 2026-07-28 answers by repeating the request


def form(message: str, **fields: str | dict[str, object]) -> types.ElicitRequest:
    """:param fields: type of each, or its schema"""
    properties = {
        name: {"type": kind} if isinstance(kind, str) else kind for name, kind in fields.items()
    }
    schema = {"type": "object", "properties": properties, "required": [*fields]}
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=params)


def accepted(context: Context, key: str) -> bool:
    answer = (context.input_responses or {}).get(key)
    return isinstance(answer, types.ElicitResult) and answer.action == "accept"


def asked(state: str | None = None, **questions: types.ElicitRequest) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=questions, request_state=state)


@tool
def test_input_required_result_elicitation(context: Context) -> str | types.InputRequiredResult:
    """Ask for a name."""
    question = form("What is your name?", name="string")
    return "Hello!" if accepted(context, "user_name") else asked(user_name=question)


def answered(context: Context, question: types.ElicitRequest) -> str | types.InputRequiredResult:
    """Ask, and say what was answered."""
    answer = (context.input_responses or {}).get("user")
    if not isinstance(answer, types.ElicitResult):
        return asked(user=question)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


@tool
def test_elicitation(context: Context, message: str) -> str | types.InputRequiredResult:
    """Ask what the arguments say."""
    return answered(context, form(message, username="string", email="string"))


@tool
def test_elicitation_sep1034_defaults(context: Context) -> str | types.InputRequiredResult:
    """Ask with defaults."""
    status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
    question = form(
        "Who are you?",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status=status,
        verified={"type": "boolean", "default": True},
    )
    return answered(context, question)


@tool
def test_elicitation_sep1330_enums(context: Context) -> str | types.InputRequiredResult:
    """Ask for choices of each kind."""
    names = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    old = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]}
    question = form(
        "Choose.",
        untitledSingle={"type": "string", "enum": names},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", **old},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": names}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return answered(context, question)


@tool
async def test_reconnection() -> str:
    """Take so long that Odoo answers in a stream."""
    await asyncio.sleep(STREAMED)
    return "Reconnected"


@tool
def test_streaming_elicitation(context: Context) -> str | types.InputRequiredResult:
    """Ask for a name, too."""
    return test_input_required_result_elicitation(context)


@tool
def test_input_required_result_request_state(context: Context) -> str | types.InputRequiredResult:
    """Ask, and know its own state again."""
    known = accepted(context, "confirm") and context.request_state == "asked"
    return "state-ok" if known else asked("asked", confirm=form("Please confirm", ok="boolean"))


@tool
def test_input_required_result_tampered_state(context: Context) -> str | types.InputRequiredResult:
    """Ask, and know a state of nobody else; the SDK seals it."""
    return test_input_required_result_request_state(context)


@tool
def test_input_required_result_multi_round(context: Context) -> str | types.InputRequiredResult:
    """Ask twice."""
    if context.request_state == "2" and accepted(context, "step2"):
        return "Asked twice."
    if context.request_state == "1" and accepted(context, "step1"):
        return asked("2", step2=form("Step 2: What is your favorite color?", color="string"))
    return asked("1", step1=form("Step 1: What is your name?", name="string"))


@tool
def test_missing_capability() -> str:
    """Refuse every client: nobody here lets a server use a model."""
    needed = {"requiredCapabilities": {"sampling": {}}}
    code = types.MISSING_REQUIRED_CLIENT_CAPABILITY
    raise MCPError(code=code, message="The client needs `sampling`.", data=needed)


# Tools that take so long that Odoo makes tasks of their calls


@tool
def greet(name: str) -> str:
    """Greet at once."""
    return f"Hello, {name}!"


@tool
async def slow_compute(seconds: float, label: str = "") -> str:
    """Take so many seconds."""
    await asyncio.sleep(seconds)
    return f"Computed {label}"


@tool
async def failing_job(context: Context) -> types.CallToolResult:
    """Fail later, and only for clients that take tasks."""
    extensions = getattr(context.client_capabilities, "extensions", None) or {}
    if TASKS not in extensions:
        needed = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        code = types.MISSING_REQUIRED_CLIENT_CAPABILITY
        raise MCPError(code=code, message="The client needs tasks.", data=needed)
    await asyncio.sleep(LONG)
    return types.CallToolResult(content=[text("The job has failed.")], is_error=True)


@tool
async def protocol_error_job() -> str:
    """Break the protocol later."""
    await asyncio.sleep(LONG)
    raise MCPError(code=types.INTERNAL_ERROR, message="The job has crashed.")


@tool
async def confirm_delete(context: Context, filename: str) -> str | types.InputRequiredResult:
    """Ask later."""
    if accepted(context, "confirm"):
        return f"Deleted {filename}"
    await asyncio.sleep(LONG)
    return asked(confirm=form(f"Delete {filename}?", confirm="boolean"))


@tool
async def multi_input(context: Context) -> str | types.InputRequiredResult:
    """Ask two things later."""
    if accepted(context, "first") and accepted(context, "second"):
        return "Both answered."
    await asyncio.sleep(LONG)
    return asked(first=form("First?", name="string"), second=form("Second?", name="string"))


@tool
async def test_tool_with_task(context: Context) -> str | types.InputRequiredResult:
    """Ask at once, and take long then."""
    answer = (context.input_responses or {}).get("user_name")
    if not isinstance(answer, types.ElicitResult) or answer.action != "accept":
        return asked(user_name=form("What is your name?", name="string"))
    await asyncio.sleep(LONG)
    return f"Hello, {(answer.content or {}).get('name')}!"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Text to read."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture to read."""
    return base64.b64decode(PIXEL)


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Text to watch."""
    return "Watched."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    """Data of an id."""
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


@server.prompt()
def test_simple_prompt() -> str:
    """Say something."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Say two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
    """Show a resource."""
    said = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [UserMessage(said), UserMessage("Please process the embedded resource above.")]


@server.prompt()
def test_prompt_with_image() -> list[Message]:
    """Show a picture."""
    return [UserMessage(image()), UserMessage("Please analyze the image above.")]


@server.prompt()
def test_input_required_result_prompt(
    context: Context,
) -> list[Message] | types.InputRequiredResult:
    """Ask for a context."""
    if accepted(context, "user_context"):
        return [UserMessage("With your context.")]
    return asked(user_context=form("What context should the prompt use?", context="string"))


@server.completion()
async def complete(
    _ref: object, argument: types.CompletionArgument, _context: object
) -> types.Completion:
    known = ("paris", "park", "party", "test")
    return types.Completion(values=[word for word in known if word.startswith(argument.value)])


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
