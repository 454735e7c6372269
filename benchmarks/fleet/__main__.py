"""What a fleet of tenants costs PostgreSQL and its processes: ``make bench-fleet``, or ``ARGS='claims'`` for one part.

Two hundred databases stand behind PgBouncer, with one runner of all of them, one HTTP worker and the gevent process.
``TENANTS=50`` makes fewer.
"""

import contextlib
import signal
import sys
import time
from functools import partial

from ..bed import deployment
from ..figures import run
from .bed import fleet
from .busy import busy
from .claims import claims
from .commits import commits
from .cycles import cycles
from .rest import rest
from .streams import streams

PARTS = {
    "rest": rest,
    "commits": commits,
    "claims": claims,
    "busy": busy,
    "streams": streams,
    "cycles": cycles,
}


def main(chosen):
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"No such part: {', '.join(sorted(unknown))}. There are {', '.join(PARTS)}.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begun = time.monotonic()
    wanted = [name for name in PARTS if name in chosen or not chosen]
    with deployment() as (llm, new_odoo), fleet(llm, new_odoo) as tenants:
        failed = run({name: partial(PARTS[name], tenants) for name in wanted})
    print(f"{(time.monotonic() - begun) / 60:.0f} minutes", flush=True)
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1:])
