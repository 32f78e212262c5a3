"""``python -m grafenne`` is the same as the command ``grafenne``."""

from __future__ import annotations

import sys

from grafenne.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
