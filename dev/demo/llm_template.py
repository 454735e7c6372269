"""Adapts the embedded model's own chat template to how this model really calls tools.

The template asks for ``<tool_call>`` tags, but the small model answers in a JSON code fence, and llama.cpp builds its
parser of tool calls from the template. So the template that the model file carries is changed in a few places when the
server starts; it is not copied into this project. It shows the model the exchanges of `dev/demo/examples.py` first
(benchmarks that compare it with others go without), and says after each question in which language it is answered, see
`dev/demo/languages.py`.
"""

from typing import NamedTuple

from dev.demo import examples, languages
from dev.progress import DevError


class Change(NamedTuple):
    """One passage of the template, which has to be there exactly once, and what stands there instead."""

    old: str
    new: str


HERE = "{#- before the first question #}"
# Inside a template's string literal a line break is the two characters "\n".
ASK_FOR_FENCE = Change(
    old=r"within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    r'{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call><|im_end|>\n"',
    new=r"in a ```json code block:\n```json\n"
    r'{\"name\": <function-name>, \"arguments\": <args-json-object>}\n```<|im_end|>\n" }}'
    + HERE
    + '{{- ""',
)
SHOW_EXAMPLES = Change(old=HERE, new=examples.as_jinja())
OPEN_PAST_CALL = Change(old=r"""'\n<tool_call>\n{"name": "'""", new=r"""'\n```json\n{"name": "'""")
CLOSE_PAST_CALL = Change(old=r"""'}\n</tool_call>'""", new=r"""'}\n```'""")
BEGIN = Change(
    old="{%- if tools %}\n    {{- '<|im_start|>system",
    new=languages.BEGIN + "{%- if tools %}\n    {{- '<|im_start|>system",
)
SYSTEM_WITH_TOOLS = Change(
    old="        {{- messages[0]['content'] }}\n", new="        {{- language.system }}\n"
)
SYSTEM_ALONE = Change(
    old="messages[0]['content'] + '<|im_end|>", new="language.system + '<|im_end|>"
)
SAY_LANGUAGE = Change(
    old="""        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}""",
    new="""        {{- '<|im_start|>' + message.role + '\\n' + message.content }}
        {%- if message.role == "user" %}"""
    + languages.OF_MESSAGE
    + """{{- language.hint }}{%- endif %}
        {{- '<|im_end|>\\n' }}""",
)
ANSWER_FROM_RESULT = Change(
    old=r"""{{- '\n</tool_response>' }}""",
    new=r"""{{- '\n</tool_response>' }}
        {%- if loop.last %}
            {{- '\n' + language.from_result }}
        {%- endif %}""",
)
CHANGES = (
    BEGIN,
    SYSTEM_WITH_TOOLS,
    SYSTEM_ALONE,
    SAY_LANGUAGE,
    ASK_FOR_FENCE,
    OPEN_PAST_CALL,
    CLOSE_PAST_CALL,
    ANSWER_FROM_RESULT,
)


def for_code_fences(template: str, with_examples: bool = True) -> str:
    """``template`` with every change of :data:`CHANGES`."""
    for change in (*CHANGES, SHOW_EXAMPLES) if with_examples else CHANGES:
        if template.count(change.old) != 1:
            raise DevError(
                f"The model's chat template is not the known one: no single {change.old!r} in it."
            )
        template = template.replace(change.old, change.new)
    return template
