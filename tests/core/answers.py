"""Answers as models without function calling write them: what was said, what a person reads, what is called.

Calls are (name, arguments); the arguments are None where the call was cut and must not run.
"""

from dataclasses import dataclass, field
from typing import Any

NAMES = ("time__now", "files__search", "shop__order")
NOW = ("time__now", {"timezone": "Asia/Taipei"})
SEARCH = ("files__search", {"pattern": "*.ts", "directory": "src"})


@dataclass(frozen=True)
class Case:
    name: str
    raw: str
    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    is_unreadable: bool = False


CORPUS = [
    Case(
        "the form of document 001",
        """{
  "tool_calls": [
    { "name": "time__now", "arguments": { "timezone": "Asia/Taipei" } },
    { "name": "files__search", "arguments": { "pattern": "*.ts", "directory": "src" } }
  ],
  "message": "讓我幫你查詢一下..."
}""",
        "讓我幫你查詢一下...",
        [NOW, SEARCH],
    ),
    Case(
        "on one line, in a fence, prose around it",
        'Sure, I will look that up.\n\n```json\n{"tool_calls": [{"name": "time__now", "arguments": '
        '{"timezone": "Asia/Taipei"}}], "message": "One moment."}\n```\n\nThen I tell you.',
        "Sure, I will look that up.\n\nOne moment.\n\nThen I tell you.",
        [NOW],
    ),
    Case(
        "message first",
        '{"message": "Looking \\"there\\".", "tool_calls": [{"name": "time__now", "arguments": '
        '{"timezone": "Asia/Taipei"}}]}',
        'Looking "there".',
        [NOW],
    ),
    Case(
        "thoughts first",
        '{"thought": "I need {the} time.", "tool_calls": [{"name": "time__now", "arguments": '
        '{"timezone": "Asia/Taipei"}}]}',
        "",
        [NOW],
    ),
    Case(
        "trailing commas, single quotes, Python's words",
        "{'tool_calls': [{'name': 'shop__order', 'arguments': {'gift': True, 'note': None, 'ids': [1, 2,],},},], "
        "'message': 'It\\'s on its way',}",
        "It's on its way",
        [("shop__order", {"gift": True, "note": None, "ids": [1, 2]})],
    ),
    Case(
        "keys without quotes",
        '{tool_calls: [{name: "time__now", arguments: {timezone: "Asia/Taipei"}}]}',
        "",
        [NOW],
    ),
    Case(
        "quotes that nobody escaped",
        '{"tool_calls": [{"name": "shop__order", "arguments": {"note": "say "hello" twice"}}], '
        '"message": "I say "hi"!"}',
        'I say "hi"!',
        [("shop__order", {"note": 'say "hello" twice'})],
    ),
    Case(
        "a line break in a text",
        '{"tool_calls": [{"name": "shop__order", "arguments": {"note": "one\ntwo"}}]}',
        "",
        [("shop__order", {"note": "one\ntwo"})],
    ),
    Case(
        "several fenced blocks",
        'First:\n```json\n{"tool_calls": [{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}]}\n```\n'
        'and second:\n```json\n{"tool_calls": [{"name": "files__search", "arguments": {"pattern": "*.ts", '
        '"directory": "src"}}]}\n```',
        "First:\nand second:\n",
        [NOW, SEARCH],
    ),
    Case(
        "several bare calls in one fence",
        '```\n{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}\n'
        '{"name": "files__search", "parameters": {"pattern": "*.ts", "directory": "src"}}\n```',
        "",
        [NOW, SEARCH],
    ),
    Case(
        "a list of calls",
        '[{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}, {"name": "files__search", '
        '"arguments": {"pattern": "*.ts", "directory": "src"}}]',
        "",
        [NOW, SEARCH],
    ),
    Case(
        "tags as Qwen and Hermes write them",
        'I check.\n<tool_call>\n{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "files__search", "arguments": {"pattern": "*.ts", "directory": "src"}}\n</tool_call>',
        "I check.\n",
        [NOW, SEARCH],
    ),
    Case(
        "as Mistral writes it",
        '[TOOL_CALLS][{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}]',
        "",
        [NOW],
    ),
    Case(
        "as Llama writes it",
        '<|python_tag|>{"type": "function", "name": "time__now", "parameters": {"timezone": "Asia/Taipei"}}',
        "",
        [NOW],
    ),
    Case(
        "as OpenAI's API writes it",
        '{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "time__now", "arguments": '
        '"{\\"timezone\\": \\"Asia/Taipei\\"}"}}]}',
        "",
        [NOW],
    ),
    Case(
        "one call that is no list",
        '{"tool_calls": {"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}}',
        "",
        [NOW],
    ),
    Case(
        "brackets that are missing at the end",
        '{"tool_calls": [{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}',
        "",
        [NOW],
    ),
    Case(
        "a bracket that is missing inside",
        '{"tool_calls": [{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}], "message": "Wait."}',
        "Wait.",
        [NOW],
    ),
    Case(
        "a bracket too many",
        '{"tool_calls": [{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}}], "message": "Wait."}}',
        "Wait.",
        [NOW],
    ),
    Case(
        "cut in the arguments of the second call",
        '{"tool_calls": [{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}, '
        '{"name": "shop__order", "arguments": {"amount": 1',
        "",
        [NOW, ("shop__order", None)],
    ),
    Case(
        "cut in a text of the arguments",
        '{"tool_calls": [{"name": "shop__order", "arguments": {"note": "for Mr',
        "",
        [("shop__order", None)],
    ),
    Case(
        "cut before the arguments",
        '{"tool_calls": [{"name": "time__now"',
        "",
        [("time__now", None)],
    ),
    Case(
        "cut in the message",
        '{"tool_calls": [{"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}], "message": "One mom',
        "One mom",
        [NOW],
    ),
    Case(
        "one of several calls has no name",
        '{"tool_calls": [{"nme": "time__now"}, {"name": "time__now", "arguments": {"timezone": "Asia/Taipei"}}]}',
        "",
        [("", {}), NOW],
    ),
    Case(
        "a name that was not offered, in so many words",
        '{"tool_calls": [{"name": "Time__Now", "arguments": {}}]}',
        "",
        [("Time__Now", {})],
    ),
    Case(
        "an answer in the form, without calls",
        '{"tool_calls": [], "message": "It is *noon*.\\n\\nSleep well 😀 \\ud83d\\ude00"}',
        "It is *noon*.\n\nSleep well 😀 😀",
    ),
    Case("an answer in the form, message only", '{"message": "It is noon."}', "It is noon."),
    # ------------------------------------------------------------ text that only looks like it
    Case("plain text", "It is **noon**.\n\n- a\n- b", "It is **noon**.\n\n- a\n- b"),
    Case(
        "brackets in prose",
        "Use {x} or [1, 2] or [a link](https://example.com), `{}` and a < b.",
        "Use {x} or [1, 2] or [a link](https://example.com), `{}` and a < b.",
    ),
    Case(
        "a JSON object that somebody asked for",
        'Here it is:\n\n```json\n{"name": "Ada", "age": 36}\n```\n',
        'Here it is:\n\n```json\n{"name": "Ada", "age": 36}\n```\n',
    ),
    Case(
        "a JSON object alone",
        '{"city": "Taipei", "zones": ["CST"]}',
        '{"city": "Taipei", "zones": ["CST"]}',
    ),
    Case(
        "a bare call of what was not offered",
        '{"name": "rm", "arguments": {"path": "/"}}',
        '{"name": "rm", "arguments": {"path": "/"}}',
    ),
    Case(
        "code that speaks of calls",
        '```python\ncall({"tool_calls": [{"name": "time__now", "arguments": {}}]})\n```\nLike this.',
        '```python\ncall({"tool_calls": [{"name": "time__now", "arguments": {}}]})\n```\nLike this.',
    ),
    Case("an unclosed fence", "```js\nlet a = {", "```js\nlet a = {"),
    Case("a tag in prose", "Write <tool_call> first.", "Write <tool_call> first."),
    Case("nothing but brackets", "[] {}", "[] {}"),
    # ------------------------------------------------------------ what nobody can read
    Case("calls as a text", '{"tool_calls": "time__now()"}', is_unreadable=True),
    Case("calls without names", '{"tool_calls": [{"timezone": "UTC"}]}', is_unreadable=True),
    Case("cut before the first name", 'Wait. {"tool_calls": [{"na', "Wait. ", is_unreadable=True),
    Case("neither calls nor a message", '{"tool_calls": [], "message": ""}', is_unreadable=True),
    Case("bottomless", '{"tool_calls": ' + "[" * 500, is_unreadable=True),
]
