"""What all tests share: how hard Hypothesis looks, the servers of a run, and what is checked but never run.

Decides: the profiles. `ci` (where CI is set) tries more examples and always the same ones; `dev` tries new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

from tests.servers.fixtures import (
    database_url,
    mariadb_server,
    mariadb_url,
    postgresql_server,
    postgresql_url,
    pytest_terminal_summary,
)

__all__ = [
    "database_url",
    "mariadb_server",
    "mariadb_url",
    "postgresql_server",
    "postgresql_url",
    "pytest_terminal_summary",
]

settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None, print_blob=True)
settings.register_profile("dev", max_examples=50, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

collect_ignore = ["typing"]  # the type checkers read it; its code need not run
