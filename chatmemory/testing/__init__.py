"""For those who write a store: the suite that it must pass, and what makes messages. Needs pytest and Hypothesis.

`chatmemory.testing.store_conformance.StoreConformance` is the suite, `chatmemory.testing.changes` plans changes without
a memory, `chatmemory.testing.generators` makes messages.
"""

from __future__ import annotations

import sys

if "pytest" in sys.modules:  # where it does not run, nothing is rewritten, and importing it would only cost time
    import pytest

    pytest.register_assert_rewrite(*(f"chatmemory.testing.store_{part}" for part in ("commits", "entries", "life")))
