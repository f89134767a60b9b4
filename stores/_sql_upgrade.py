"""From an older schema to the newest one, whoever else tries the same at that moment.

Decides: which revisions are refused and what is then to be done; that one process migrates and the others wait for it.
Alembic does the migrating, and is imported for that only.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, event, select

from chatmemory.checks import check_count
from chatmemory.errors import InvalidArgumentError, StoreError, UnsupportedSchemaError
from chatmemory.stores._sql_alone import alone
from chatmemory.stores._sql_engine import engine_for
from chatmemory.stores._sql_errors import FAILURES, is_transient, translate
from chatmemory.stores._sql_partitions import COUNT_PARTITIONS, MOST_PARTITIONS
from chatmemory.stores._sql_schema import (
    BASE,
    NEWEST,
    REVISIONS,
    conversations,
    make_schema,
    read_revision,
    schema,
)
from chatmemory.stores._sql_transactions import Database, Transaction

_WAIT_SECONDS: Final = 60
_SCRIPTS: Final = Path(__file__).with_name("migrations")
_INSTALL: Final = "pip install 'pychatmemory[migrations]'"
_SECRETS: Final = ("password", "passwd", "sslpassword")
_turns: Final[dict[int, threading.Lock]] = {}
"""What Alembic's scripts talk to is global to the process. By its number: a child's lock is not held by its parent."""


def upgrade_schema(url_or_engine: str | URL | Engine, *, partitions: int = 0) -> str:
    """Bring the schema of `SqlChatMemoryStore` to the newest revision, and return that; make it where there is none.

    Several processes may do this at once: one migrates, the others wait up to a minute for it. Make a backup first:
    nothing leads back. On MariaDB and MySQL an upgrade that was interrupted goes on when it is called again; elsewhere
    it is one transaction.

    Args:
        url_or_engine: As for `SqlChatMemoryStore`.
        partitions: Into how many parts PostgreSQL splits each table, by a hash of the conversation. That can be chosen
            only where there are no tables yet; 0 leaves it as it is.

    Raises:
        InvalidArgumentError: `partitions` is wrong, is for another database than PostgreSQL, or is not how the tables
            that are there are split.
        StoreError: The extra ``migrations`` is missing and needed, or the database failed.
        UnsupportedSchemaError: The schema is newer than this library, or somebody else's.
    """
    with _opened(url_or_engine) as database:
        _check_partitions(partitions, database.engine)
        database.read(partial(_check_split, partitions=partitions))
        revision = database.read(read_revision) or database.write(partial(_make, partitions=partitions))
        check_revision(upgrade(database) if is_older(revision) else revision, database.engine.url)
        return NEWEST


def schema_revision(url_or_engine: str | URL | Engine) -> str | None:
    """Return the revision of the schema that is there, such as ``"0002"``; None where there is none.

    Raises:
        StoreError: The database failed.
        UnsupportedSchemaError: A table is somebody else's.
    """
    with _opened(url_or_engine) as database:
        return database.read(read_revision)


def check_schema(url_or_engine: str | URL | Engine) -> None:
    """Refuse a database whose schema is not the newest; for a deployment, before its first operation.

    Raises:
        StoreError: The database failed.
        UnsupportedSchemaError: There is no schema yet, or it is older, newer or somebody else's; it says what to do.
    """
    with _opened(url_or_engine) as database:
        revision, url = database.read(read_revision), database.engine.url
        if revision is None:
            raise UnsupportedSchemaError(f"{address_of(url)} holds no schema yet; {_run(url)}, or add a first message")
        check_revision(revision, url)


def is_older(revision: str | None) -> bool:
    """Whether `upgrade` leads from `revision` to the newest."""
    return revision in (BASE, *REVISIONS[:-1])


def check_revision(revision: str | None, url: URL) -> None:
    """Refuse a schema that this library cannot use; None, no schema, is none.

    Raises:
        UnsupportedSchemaError: It is older or newer; the error says what to do.
    """
    if revision in (None, NEWEST):
        return
    where = address_of(url)
    if is_older(revision):
        raise UnsupportedSchemaError(
            f"{where} holds schema {revision}, and this version of pychatmemory needs {NEWEST}; make a backup, "
            f"and {_run(url)}; or make the store with auto_upgrade=True"
        )
    raise UnsupportedSchemaError(
        f"{where} holds schema {revision}, which is newer than this version of pychatmemory, made for {NEWEST}; "
        f"use a newer pychatmemory"
    )


def check_can_upgrade() -> None:
    """Refuse to upgrade without Alembic.

    Raises:
        StoreError: It is not installed.
    """
    if find_spec("alembic") is None:
        raise StoreError(f"upgrading a schema needs Alembic; {_INSTALL}")


def address_of(url: URL) -> str:
    """Return `url` without its secrets."""
    shown = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    return shown.difference_update_query(_SECRETS).render_as_string()


def _run(url: URL) -> str:
    return f"run: chatmemory db upgrade --db {shlex.quote(address_of(url))} (with the password, if there is one)"


def upgrade(database: Database) -> str | None:
    """Migrate to the newest revision, unless another process was faster; return the revision that is there now.

    Raises:
        StoreError: Alembic is missing, another process did not get done in time, or the database failed.
    """
    check_can_upgrade()
    failures = (*FAILURES, database.engine.dialect.loaded_dbapi.Error)
    try:
        with _turns.setdefault(os.getpid(), threading.Lock()), alone(database) as connection:
            if is_older(_revision_now(connection)):
                _migrate(connection)
    except failures as error:
        raise _broken_off(error, database) from error
    return database.read(read_revision)


def _broken_off(error: Exception, database: Database) -> StoreError:
    kind = database.engine.dialect.name
    if kind in ("sqlite", "postgresql"):
        return translate(error, database.where, kind)
    problem = (
        f"the upgrade of {database.where} broke off ({type(error).__name__}); what it had done stays, and it goes "
    )
    return StoreError(f"{problem}on when it is started again; the cause says why", transient=is_transient(error, kind))


def _revision_now(connection: Connection) -> str:
    return connection.execute(select(schema.c.version_num)).scalar() or BASE


def _migrate(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - the extra, and only to migrate
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    command.upgrade(config, NEWEST)


@contextmanager
def _opened(url_or_engine: str | URL | Engine) -> Iterator[Database]:
    engine, is_owned = engine_for(url_or_engine, wait_seconds=_WAIT_SECONDS)
    if is_owned:
        event.listen(engine, "do_connect", _wait_for_answers)
    with closing(Database(engine, is_owned=is_owned, wait_seconds=_WAIT_SECONDS)) as database:
        yield database


def _wait_for_answers(_dialect: object, _record: object, _given: object, settings: dict[str, object]) -> None:
    # PyMySQL gives up a statement after this time, and altering a large table takes longer.
    settings.pop("read_timeout", None)


def _make(transaction: Transaction, *, partitions: int) -> str:
    revision = make_schema(transaction, partitions=partitions)
    _check_split(transaction, partitions=partitions)
    return revision


def _check_partitions(partitions: int, engine: Engine) -> None:
    check_count("partitions", partitions, least=0)
    if partitions > MOST_PARTITIONS:
        raise InvalidArgumentError("partitions", f"is {partitions}; give at most {MOST_PARTITIONS}")
    if partitions and engine.dialect.name != "postgresql":
        raise InvalidArgumentError("partitions", f"is for PostgreSQL, and this is {engine.dialect.name}; leave it out")


def _check_split(transaction: Transaction, *, partitions: int) -> None:
    if not partitions or conversations.name not in transaction.table_names():
        return
    ((found,),) = transaction.rows(COUNT_PARTITIONS, {})
    if found != partitions:
        there = f"in {found} parts" if found else "whole"
        raise InvalidArgumentError(
            "partitions",
            f"is {partitions}, and the tables that are there are {there}; leave it out, or give another database",
        )
