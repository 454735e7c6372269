"""Adapts the embedded model's own chat template to how this model really calls tools.

The template asks for ``<tool_call>`` tags, but the small model answers in a JSON code fence, and llama.cpp builds its
parser of tool calls from the template. So the template that the model file carries is changed in four places when the
server starts, and shows it the exchanges of `dev/demo/examples.py` first; it is not copied into this project.
"""

from typing import NamedTuple

from dev.demo import examples
from dev.progress import DevError


class Change(NamedTuple):
    """One passage of the template, which has to be there exactly once, and what stands there instead."""

    old: str
    new: str


# Inside a template's string literal a line break is the two characters "\n".
ASK_FOR_FENCE = Change(
    old=r"within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    r'{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call><|im_end|>\n"',
    new=r"in a ```json code block:\n```json\n"
    r'{\"name\": <function-name>, \"arguments\": <args-json-object>}\n```<|im_end|>\n" }}'
    + examples.as_jinja()
    + '{{- ""',
)
OPEN_PAST_CALL = Change(old=r"""'\n<tool_call>\n{"name": "'""", new=r"""'\n```json\n{"name": "'""")
CLOSE_PAST_CALL = Change(old=r"""'}\n</tool_call>'""", new=r"""'}\n```'""")
ANSWER_FROM_RESULT = Change(
    old=r"""{{- '\n</tool_response>' }}""",
    new=r"""{{- '\n</tool_response>' }}
        {%- if loop.last %}
            {{- '\nUsing this result, answer my question in one short sentence, in the language of my question. """
    r"""Copy numbers and names exactly as they are in the result, times as HH:MM.' }}
        {%- endif %}""",
)
CHANGES = (ASK_FOR_FENCE, OPEN_PAST_CALL, CLOSE_PAST_CALL, ANSWER_FROM_RESULT)


def for_code_fences(template: str) -> str:
    """``template`` with every change of :data:`CHANGES`."""
    for change in CHANGES:
        if template.count(change.old) != 1:
            raise DevError(
                f"The model's chat template is not the known one: no single {change.old!r} in it."
            )
        template = template.replace(change.old, change.new)
    return template
