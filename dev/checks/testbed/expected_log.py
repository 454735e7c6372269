"""Records of logs that tests expect; any other WARNING or ERROR fails ``make test``."""

from dev.paths import REPORTS

EXPECTED_LOG = REPORTS / "expected-log.txt"


def expect(log_name: str, pattern: str) -> None:
    EXPECTED_LOG.parent.mkdir(parents=True, exist_ok=True)
    with EXPECTED_LOG.open("a") as file:
        file.write(f"{log_name}\t{pattern}\n")


def expected_patterns(log_name: str) -> tuple[str, ...]:
    """Patterns that tests said to expect in this log."""
    if not EXPECTED_LOG.exists():
        return ()
    rows = (line.split("\t", 1) for line in EXPECTED_LOG.read_text().splitlines())
    return tuple(pattern for name, pattern in rows if name == log_name)
