"""What a fleet of tenants costs PostgreSQL and its processes: ``make bench-fleet``, or ``ARGS='claims'`` for one part.

Two hundred databases stand behind PgBouncer, with one runner of all of them, one HTTP worker and the gevent process.
Figures stand beside those of the design of the first release (19.0.1.0.0): a NOTIFY inside each transaction and one
connection of each process to each database that listens. `commits` simulates that, `before` installs it.
``TENANTS=50`` makes fewer.
"""

import contextlib
import os
import signal
import sys
import time
import traceback

from ..bed import deployment
from .bed import fleet
from .before import before
from .busy import busy
from .claims import claims
from .commits import commits
from .cycles import cycles
from .rest import rest
from .streams import streams

OF_THE_FLEET = {
    "rest": rest,
    "commits": commits,
    "claims": claims,
    "busy": busy,
    "streams": streams,
    "cycles": cycles,
}
PARTS = (*OF_THE_FLEET, "before")


def main(chosen):
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"No such part: {', '.join(sorted(unknown))}. There are {', '.join(PARTS)}.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begun = time.monotonic()
    wanted = [name for name in PARTS if name in chosen or not chosen]
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before", flush=True)
    with deployment() as (llm, new_odoo):
        with contextlib.ExitStack() as made:
            parts = [OF_THE_FLEET[name] for name in wanted if name in OF_THE_FLEET]
            tenants = made.enter_context(fleet(llm, new_odoo)) if parts else None
            failed = [part.__name__ for part in parts if not _went_well(part, tenants)]
        if "before" in wanted and not _went_well(before, llm, new_odoo):
            failed.append("before")
    print(f"{(time.monotonic() - begun) / 60:.0f} minutes", flush=True)
    if failed:
        sys.exit(f"Without figures: {', '.join(failed)}.")


def _went_well(part, *bed):
    """The figures of the other parts are worth having, whatever became of one."""
    try:
        part(*bed)
    except Exception:
        traceback.print_exc()
        return False
    return True


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1:])
