"""Steps of migrations that look first, so that they can be repeated, and the types that the revisions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from alembic import op
from sqlalchemy import BigInteger, Column, LargeBinary, Text, inspect
from sqlalchemy.dialects.mysql import LONGBLOB, LONGTEXT

from chatmemory.errors import UnsupportedSchemaError
from chatmemory.stores._sql_schema import ExactString

ID: Final = ExactString(255)
KEY: Final = ExactString(64)
LONG_TEXT: Final = Text().with_variant(LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb")
LONG_BYTES: Final = LargeBinary().with_variant(LONGBLOB(), "mysql", "mariadb")
ON_MYSQL: Final = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}


def number(name: str, *, key: bool = False, null: bool = False) -> Column[int]:
    """Return a column of whole numbers."""
    return Column(name, BigInteger, primary_key=key, autoincrement=False, nullable=null)


def reshape(
    table: str,
    *,
    add: Sequence[Column[Any]],
    make_nullable: Mapping[str, Any] | None = None,
    make_unique: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Bring `table` into a shape; what it has of that already is left alone.

    Args:
        table: Its name.
        add: Columns that it has afterwards.
        make_nullable: Columns that may be NULL afterwards, with their types.
        make_unique: Names of constraints that it has afterwards, with their columns.
    """
    there = inspect(op.get_bind())
    columns = {column["name"]: column for column in there.get_columns(table)}
    constraints = {constraint["name"] for constraint in there.get_unique_constraints(table)}
    with op.batch_alter_table(table) as batch:  # SQLite copies the table where it cannot alter it
        for column in add:
            if column.name not in columns:
                batch.add_column(column)
        for name, kind in (make_nullable or {}).items():
            if not columns[name]["nullable"]:
                batch.alter_column(name, existing_type=kind, nullable=True)
        for name, of in (make_unique or {}).items():
            if name not in constraints:
                batch.create_unique_constraint(name, list(of))


def refuse_downgrade() -> NoReturn:
    """Say that nothing leads back.

    Raises:
        UnsupportedSchemaError: Always.
    """
    raise UnsupportedSchemaError(
        "chatmemory's schema cannot be downgraded, since the older one has no room for what this one holds; "
        "nothing changed; restore a backup that was made before the upgrade"
    )
