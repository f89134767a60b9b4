"""How a table is created, whole or split by PostgreSQL into parts that each hold the conversations of one hash.

Decides: the parts' names, and that a table is split by the first column of its primary key. Knows no table by name and
no connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import MetaData, Table, TextClause, text
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import Executable

MOST_PARTITIONS: Final = 1024

COUNT_PARTITIONS: Final[TextClause] = text(
    "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('conversations')"
)
"""How many parts PostgreSQL has split the conversations into; 0: none."""


def creating(table: Table, partitions: int) -> Iterator[Executable]:
    """Yield the statements that create `table` where it is not there, in `partitions` parts or (0) whole."""
    if partitions == 0:
        yield CreateTable(table, if_not_exists=True)
        return
    key = table.primary_key.columns[0].name
    split = table.to_metadata(MetaData())
    split.kwargs["postgresql_partition_by"] = f"HASH ({key})"
    yield CreateTable(split, if_not_exists=True)
    for part in range(partitions):
        yield text(
            f"CREATE TABLE IF NOT EXISTS {table.name}_p{part} PARTITION OF {table.name} "
            f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
        )
