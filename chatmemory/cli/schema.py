"""``chatmemory db``: what is said of a database's tables. Decides nothing of how they are upgraded."""

from __future__ import annotations

import sys

from chatmemory.cli.arguments import Schema
from chatmemory.cli.showing import check_is_there


def look_after(options: Schema) -> int:
    """Run ``db upgrade``, ``db current`` or ``db check``; what is printed is the revision that is there afterwards.

    Raises:
        ChatMemoryError: It cannot be done, or `check` found that something is to be done.
    """
    if options.action == "upgrade":
        _upgrade(options)
    else:
        check_is_there(options.db)
        _look(options)
    return 0


def _upgrade(options: Schema) -> None:
    from chatmemory.stores import upgrade_schema  # noqa: PLC0415 - SQLAlchemy only where there is a database

    sys.stdout.write(f"{upgrade_schema(options.db, partitions=options.partitions)}\n")


def _look(options: Schema) -> None:
    from chatmemory.stores import check_schema, schema_revision  # noqa: PLC0415 - SQLAlchemy only where it is needed

    sys.stdout.write(f"{schema_revision(options.db) or 'none'}\n")
    if options.action == "check":
        check_schema(options.db)
