"""Entry point of ``python3 -m tools.dev``."""

import sys

from tools.dev.cli import main

sys.exit(main())
