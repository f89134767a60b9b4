"""``python -m chatmemory``: the same as the command ``chatmemory``."""

from __future__ import annotations

import sys

from chatmemory.cli import main

if __name__ == "__main__":
    sys.exit(main())
