"""The tables, the same on every database, and how they are made on first use.

Decides: names, types and keys; that a foreign or a newer schema is refused and left alone. Everything of one
conversation lies together under the primary keys, with no second index, so the tables can be partitioned by
conversation. Times are whole microseconds since 1970 in UTC, keys compare by code points. Knows no engine: it is given
an open transaction.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from sqlalchemy import (
    BigInteger,
    Column,
    LargeBinary,
    MetaData,
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
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import Executable

from chatmemory.errors import UnsupportedSchemaError
from chatmemory.stores.base import MAX_ID_LENGTH

SCHEMA_VERSION: Final = 1

metadata: Final = MetaData()


class ExactString(String):
    """Text that equals only itself (case, accents, trailing spaces) and is ordered by code points."""

    cache_ok = True
    inherit_cache = True


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
    *_sealing(),
    _number("tokens", null=True),
    _text("counter", null=True),
    _number("added_at"),
    _number("added_version"),
    _number("removed_version", null=True),
    _text("removed_reason", _KEY, null=True),
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

schema: Final = Table("chatmemory_schema", metadata, _number("version", key=True), **_ON_MYSQL)

_READ_VERSION: Final = select(schema.c.version)
_WRITE_VERSION: Final = insert(schema).values(version=literal_column(str(SCHEMA_VERSION)))


class OpenTransaction(Protocol):
    """What this file needs of a transaction."""

    def table_names(self) -> frozenset[str]: ...

    def rows(self, statement: Executable, values: dict[str, Any]) -> list[tuple[Any, ...]]: ...

    def run(self, statement: Executable, values: dict[str, Any]) -> int: ...


def schema_is_there(transaction: OpenTransaction) -> bool:
    """Return whether the tables are there, whole and of this version.

    Raises:
        UnsupportedSchemaError: They are of a newer version, or somebody else's.
    """
    names = transaction.table_names()
    if schema.name not in names:
        _refuse_foreign(names)
        return False
    versions = [version for (version,) in transaction.rows(_READ_VERSION, {})]
    if versions not in ([], [SCHEMA_VERSION]):
        raise UnsupportedSchemaError(
            f"the database holds schema version {versions[0]}, this library knows version {SCHEMA_VERSION}; "
            f"use the version of pychatmemory that wrote it, or a newer one"
        )
    return bool(versions)


def make_schema(transaction: OpenTransaction) -> None:
    """Make the tables, unless another process was faster.

    The version's row comes last: where the database cannot take back a CREATE TABLE, an unfinished schema has none, and
    the next process goes on with it.
    """
    if schema_is_there(transaction):
        return
    for table in (schema, conversations, messages, changes):
        transaction.run(CreateTable(table, if_not_exists=True), {})
    transaction.run(_WRITE_VERSION, {})


def _refuse_foreign(names: frozenset[str]) -> None:
    taken = sorted(name for name in names if name.lower() in metadata.tables)
    if taken:
        raise UnsupportedSchemaError(
            f"the database has a table {taken[0]!r} that chatmemory did not make; give chatmemory a database of its own"
        )
