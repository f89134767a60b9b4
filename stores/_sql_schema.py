"""The tables, the same on every database, and how they are made on first use.

Decides: names, types and keys; what counts as our tables, and that a foreign table is refused and left alone.
Everything of one conversation lies together under the primary keys, so the tables can be partitioned by conversation.
Times are whole microseconds since 1970 in UTC, keys compare by code points. Knows no engine: it is given an open
transaction. How older tables become these stands in `migrations`; a change here is a new revision there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    literal_column,
    select,
)
from sqlalchemy.dialects.mysql import LONGBLOB, LONGTEXT
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import Executable
from sqlalchemy.types import TypeEngine

from chatmemory.errors import UnsupportedSchemaError
from chatmemory.stores._sql_partitions import creating
from chatmemory.stores.base import MAX_ID_LENGTH

REVISIONS: Final = ("0001", "0002")
"""The revisions in `migrations`, oldest first. The tables below are those of the last one."""

NEWEST: Final = REVISIONS[-1]
BASE: Final = "base"
"""What older tables are called that no row of `chatmemory_schema` says the revision of."""

metadata: Final = MetaData()


class ExactString(String):
    """Text that equals only itself (case, accents, trailing spaces) and is ordered by code points.

    The type of ids in the tables of `SqlChatMemoryStore`. Migrations that Alembic generates from `schema_metadata` name
    it as ``chatmemory.stores.ExactString``.
    """

    cache_ok = True
    inherit_cache = True
    __module__ = "chatmemory.stores"  # where migrations of other projects find it, in every later release too

    def compare_against_backend(self, _dialect: Dialect, found: TypeEngine[Any]) -> bool:
        """Whether Alembic may take the column that it found for one of this type: it does not compare collations."""
        return isinstance(found, String) and found.length == self.length


@compiles(ExactString, "postgresql")
def _exact_on_postgresql(kind: ExactString, _compiler: Any, **_: Any) -> str:
    return f'VARCHAR({kind.length}) COLLATE "C"'


@compiles(ExactString, "mysql", "mariadb")
def _exact_on_mysql(kind: ExactString, compiler: Any, **_: Any) -> str:
    # utf8mb4_bin ignores trailing spaces; the two servers name the collation that does not differently.
    collation = "utf8mb4_nopad_bin" if compiler.dialect.is_mariadb else "utf8mb4_0900_bin"
    return f"VARCHAR({kind.length}) CHARACTER SET utf8mb4 COLLATE {collation}"


_ID: Final = ExactString(MAX_ID_LENGTH)
_KEY: Final = ExactString(64)
_LONG_TEXT: Final = Text().with_variant(LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb")
_LONG_BYTES: Final = LargeBinary().with_variant(LONGBLOB(), "mysql", "mariadb")
_ON_MYSQL: Final[dict[str, Any]] = {
    f"{dialect}_{key}": value
    for dialect in ("mysql", "mariadb")
    for key, value in (("engine", "InnoDB"), ("charset", "utf8mb4"))
}


def _number(name: str, *, key: bool = False, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, primary_key=key, autoincrement=False, nullable=null)


def _text(name: str, kind: Any = _LONG_TEXT, *, key: bool = False, null: bool = False) -> Column[str]:
    return Column(name, kind, primary_key=key, nullable=null)


def _sealing() -> tuple[Column[Any], ...]:
    return Column("sealed", _LONG_BYTES, nullable=True), _text("key_id", _KEY, null=True)


# `payload` or `about` is text; where the store has a codec, `sealed` is what the codec made of it, under `key_id`.
# `size` is how many entries the window has, so that a row of `messages` that is missing is noticed.
conversations: Final = Table(
    "conversations",
    metadata,
    _text("id", _ID, key=True),
    _text("epoch", _KEY),
    _number("version"),
    _number("next_seq"),
    _number("first_seq"),
    _text("kept_seqs"),
    _number("size"),
    _number("created_at"),
    _number("updated_at"),
    _text("owner", _ID, null=True),
    _text("about", null=True),
    *_sealing(),
    UniqueConstraint("owner", "id", name="conversations_of_owner"),  # an index that CREATE TABLE makes everywhere
    **_ON_MYSQL,
)

messages: Final = Table(
    "messages",
    metadata,
    _text("conversation_id", _ID, key=True),
    _number("seq", key=True),
    _text("kind", _KEY),
    _number("origin_seq", null=True),
    _number("call_seq", null=True),
    _text("role", _KEY),
    _text("payload", null=True),
    _number("tokens", null=True),
    _text("counter", null=True),
    _number("added_at"),
    _number("added_version"),
    _number("removed_version", null=True),
    _text("removed_reason", _KEY, null=True),
    *_sealing(),
    _number("redacted_version", null=True),
    **_ON_MYSQL,
)

changes: Final = Table(
    "changes",
    metadata,
    _text("conversation_id", _ID, key=True),
    _number("version", key=True),
    _text("commit_id", _KEY),
    _number("at"),
    _number("first_seq"),
    _number("last_seq"),
    _text("kept_seqs"),
    _text("refusals"),
    **_ON_MYSQL,
)

# As Alembic makes the table of its version, for it is that table.
schema: Final = Table(
    "chatmemory_schema",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="chatmemory_schema_pkc"),
)

_READ_REVISION: Final = select(schema.c.version_num)
_WRITE_REVISION: Final = insert(schema).values(version_num=literal_column(f"'{NEWEST}'"))


class OpenTransaction(Protocol):
    """What this file needs of a transaction."""

    def table_names(self) -> frozenset[str]: ...

    def column_names(self, table: str) -> frozenset[str]: ...

    def rows(self, statement: Executable, values: dict[str, Any]) -> list[tuple[Any, ...]]: ...

    def run(self, statement: Executable, values: dict[str, Any]) -> int: ...

    def alone(self) -> AbstractContextManager[None]: ...


def schema_metadata() -> MetaData:
    """Return the tables of `SqlChatMemoryStore`, for an application's own Alembic: one of its ``target_metadata``.

    Example:
        >>> sorted(schema_metadata().tables)
        ['changes', 'chatmemory_schema', 'conversations', 'messages']
    """
    return metadata


def read_revision(transaction: OpenTransaction) -> str | None:
    """Return the revision of the tables that are there; None where `make_schema` makes them, or what is missing.

    Raises:
        UnsupportedSchemaError: A table is somebody else's.
    """
    names = transaction.table_names()
    if schema.name not in names:
        _refuse_foreign(names)
        return None
    found = sorted(revision for (revision,) in transaction.rows(_READ_REVISION, {}))
    if found:
        return ", ".join(found)
    return None if all(_fits(table, names, transaction) for table in metadata.sorted_tables) else BASE


def settled_revision(transaction: OpenTransaction) -> str | None:
    """Return what `read_revision` does, where another process may be making the tables at this moment.

    Raises:
        UnsupportedSchemaError: A table is somebody else's.
    """
    found = read_revision(transaction)
    if found != BASE:
        return found
    with transaction.alone():  # MariaDB and MySQL show tables that are half made
        return read_revision(transaction)


def make_schema(transaction: OpenTransaction, *, partitions: int = 0) -> str:
    """Make the tables, unless another process was faster; return the revision that is there now.

    The revision's row comes last: where the database cannot take back a CREATE TABLE, an unfinished schema has none,
    and the next process goes on with it.

    Args:
        transaction: An open one.
        partitions: Into how many parts PostgreSQL splits each table, by the conversation; 0: it does not.
    """
    with transaction.alone():
        found = read_revision(transaction)
        if found is not None:
            return found
        for table in (schema, conversations, messages, changes):
            for statement in creating(table, 0 if table is schema else partitions):
                transaction.run(statement, {})
        transaction.run(_WRITE_REVISION, {})
        return NEWEST


def _fits(table: Table, names: frozenset[str], transaction: OpenTransaction) -> bool:
    return table.name not in names or set(table.columns.keys()) <= transaction.column_names(table.name)


def _refuse_foreign(names: frozenset[str]) -> None:
    taken = sorted(name for name in names if name.lower() in metadata.tables)
    if taken:
        raise UnsupportedSchemaError(
            f"the database has a table {taken[0]!r} that chatmemory did not make; give chatmemory a database of its own"
        )
