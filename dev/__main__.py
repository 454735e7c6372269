"""Entry point of ``python3 -m dev``."""

import os
import sys

from dev.cli import main

# Odoo's archive has no bytecode: written at the first start, it halves the time of all others.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.exit(main())
