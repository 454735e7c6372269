"""Finds in an Odoo log what our addon caused."""

import re
from collections.abc import Iterator
from pathlib import Path

from dev.paths import ADDON, ROOT

RECORD = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \d+ (?P<level>[A-Z]+) (?P<database>\S+) (?P<message>.*)$"
)
BAD = frozenset({"WARNING", "ERROR", "CRITICAL"})
OURS = re.compile(rf"\b{ADDON}\b|\b(?:ai|woow)_runner\b")
# The checkout's own path may hold the addon's name and says nothing by itself.
CHECKOUT = re.compile(rf"{re.escape(str(ROOT))}/(?:\.dev/(?!addons/)\S*)?")
STARTS = re.compile(r"^odoo: Odoo version ")
ENDS = re.compile(r"^odoo\.service\.server: Initiating shutdown")
CUT_OFF = re.compile(
    r"^odoo\.addons\.base\.models\.ir_cron: .*psycopg2\.InterfaceError: (?:cursor|connection) already closed",
    re.DOTALL,
)
# Every write of Odoo passes through it, so its frame says nothing either.
PASSED = re.compile(r'  File "\S+/models/base/base\.py", line .*\n(?!  File).*\n')


def records(log: Path) -> Iterator[tuple[str, str]]:
    """Level and text of each record; lines that follow a record, such as a traceback, belong to it."""
    level, lines = "", []
    for line in log.read_text(errors="replace").splitlines():
        found = RECORD.match(line)
        if found:
            if lines:
                yield level, "\n".join(lines)
            level, lines = found["level"], [found["message"]]
        else:
            lines.append(line)
    if lines:
        yield level, "\n".join(lines)


def complaints(log: Path, expected: tuple[str, ...] = ()) -> list[str]:
    """Records of level WARNING and above that name our addon and match none of the ``expected`` patterns."""
    if not log.exists():
        return []
    allowed = [re.compile(pattern) for pattern in expected]
    return [
        f"{level} {text}"
        for level, text in _not_cut_off(log)
        if level in BAD and _ours(text) and not any(pattern.search(text) for pattern in allowed)
    ]


def _not_cut_off(log: Path) -> Iterator[tuple[str, str]]:
    """Records without those of crons whose connection Odoo has closed, as it does while it ends."""
    is_ending = False
    for level, text in records(log):
        if ENDS.search(text):
            is_ending = True
        elif STARTS.search(text):
            is_ending = False
        if not (is_ending and CUT_OFF.search(text)):
            yield level, text


def _ours(text: str) -> bool:
    """True if the logger, the message or a frame of the traceback is the addon's.

    A frame may show the addon under its technical name or under the checkout's own folder.
    """
    text = PASSED.sub("", text)
    frame = rf'File "{re.escape(str(ROOT))}/(?!\.dev/)'
    return bool(re.search(frame, text) or OURS.search(CHECKOUT.sub("", text)))
