"""``make pictures``: the pictures of README and docs, taken again from a real browser."""

from dev.checks import runners
from dev.paths import ROOT
from dev.progress import say


def take() -> int:
    runners.set_up(("e2e",))
    outcome = runners.Pytest("pictures", [ROOT / "tests/e2e/pictures.py", "-q"]).finish()
    say("Look at docs/images and static/description before you commit them.")
    return 0 if outcome.ok else 1
