"""Transactions: one connection from the first word to COMMIT or ROLLBACK, with every statement compiled once.

Decides: that an error leaves nothing behind, and that a connection which died in the pool is not the caller's trouble.
Statements go to the driver's cursor as text that SQLAlchemy compiled for it, since going through it costs as much as a
commit to SQLite. Works with any engine: each transaction is begun and ended here, whatever the driver does by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, TypeVar

from attrs import define, field, frozen
from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.sql import Executable

from chatmemory.errors import StoreError
from chatmemory.stores._sql_deadlines import deadline
from chatmemory.stores._sql_engine import Dialogue, dialogue_of, give_back, take_over
from chatmemory.stores._sql_errors import FAILURES, TooLargeError, is_lost, translate
from chatmemory.stores._sql_forks import follow

Row = tuple[Any, ...]
Values = dict[str, Any]
Result = TypeVar("Result")

_USED: Final = "chatmemory"
"""Marks a driver's connection, in what SQLAlchemy keeps beside it, that has been used before."""

_SMALL: Final = 65_536
"""Bytes that every server takes at once, and what the rest of a statement may have beside one large value."""

_ESCAPED: Final = b"\\\"'\n\r\0\x1a"
"""What drivers of MariaDB and MySQL write as two bytes in a text."""

_LEAST_SECONDS: Final = 1
"""What a transaction gets that had to wait for its connection, and a ROLLBACK after any failure."""

_STARTS_WITHIN_SECONDS: Final = 5
"""How long a first connection that fails may be a server that starts, or that has no room at the moment."""


class _DiedInPoolError(Exception):
    """A connection was lost while nobody used it, and nothing was committed on it."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


@frozen
class Prepared:
    """A statement as the driver takes it.

    Attributes:
        text: What the driver is given.
        names: The parameters in their order; None where the driver takes them by name.
        constants: Parameters that SQLAlchemy added itself.
    """

    text: str
    names: tuple[str, ...] | None
    constants: Values

    def bind(self, values: Values) -> Values | tuple[Any, ...]:
        """Return the values as the driver takes them."""
        if self.constants:
            values = self.constants | values
        return values if self.names is None else tuple([values[name] for name in self.names])


@define
class Transaction:
    """An open transaction."""

    _cursor: Any
    _prepare: Callable[[Executable], Prepared]
    _dialogue: Dialogue

    def rows(self, statement: Executable, values: Values) -> list[Row]:
        """Return all rows that `statement` reads."""
        prepared = self._prepare(statement)
        self._cursor.execute(prepared.text, prepared.bind(values))
        return list(self._cursor.fetchall())

    def run(self, statement: Executable, values: Values) -> int:
        """Run `statement` and return how many rows it changed."""
        prepared = self._prepare(statement)
        self._cursor.execute(prepared.text, prepared.bind(values))
        return int(self._cursor.rowcount)

    def run_for_each(self, statement: Executable, values: Sequence[Values]) -> None:
        """Run `statement` once for each of `values`."""
        prepared = self._prepare(statement)
        if self._dialogue.largest_packet is not None:
            self._check_size(values, self._dialogue.largest_packet)
        if len(values) == 1:
            self._cursor.execute(prepared.text, prepared.bind(values[0]))
        elif values:
            self._cursor.executemany(prepared.text, [prepared.bind(each) for each in values])

    def table_names(self) -> frozenset[str]:
        """Return the names of the tables and views that are there."""
        return self._names(self._dialogue.table_names)

    def column_names(self, table: str) -> frozenset[str]:
        """Return the names of the columns of `table`, one of ours."""
        return self._names(self._dialogue.column_names.format(table=table))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other process change the schema in this block, or until this transaction ends.

        Raises:
            StoreError: Another process goes on doing that.
        """
        if self._dialogue.lock_schema is not None:
            self._cursor.execute(self._dialogue.lock_schema)
            ((taken,),) = self._cursor.fetchall()
            if taken in (0, None):
                raise StoreError("another process has been changing the schema for too long; try again", transient=True)
        try:
            yield
        finally:
            if self._dialogue.unlock_schema is not None:
                self._cursor.execute(self._dialogue.unlock_schema)
                self._cursor.fetchall()

    def _check_size(self, values: Sequence[Values], question: str) -> None:
        # MariaDB and MySQL hang up on what is much too large, which looks like a server that went away.
        largest = max((_size(value) for each in values for value in each.values()), default=0)
        if largest > _SMALL:
            self._cursor.execute(question)
            ((allowed,),) = self._cursor.fetchall()
            if largest > allowed - _SMALL:
                raise TooLargeError

    def _names(self, question: str) -> frozenset[str]:
        self._cursor.execute(question)
        return frozenset(name for (name,) in self._cursor.fetchall())


def _size(value: object) -> int:
    if not isinstance(value, str | bytes) or len(value) <= _SMALL // 4:
        return 0
    data = value.encode() if isinstance(value, str) else value
    return len(data) + sum(map(data.count, _ESCAPED))


@define(eq=False)
class Database:
    """One database, as the stores use it.

    Attributes:
        engine: SQLAlchemy's engine.
        is_owned: Whether `close` closes the engine.
        wait_seconds: How long a transaction may take, with the wait for its connection.
    """

    engine: Engine
    is_owned: bool
    wait_seconds: float
    _is_closed: bool = field(default=False, init=False)
    _has_connected: bool = field(default=False, init=False)
    _unreachable_since: float | None = field(default=None, init=False)
    _prepared: dict[Executable, Prepared] = field(factory=dict, init=False)
    _dialogue: Dialogue = field(init=False)
    _turn: Any = field(init=False)
    _failures: tuple[type[Exception], ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._dialogue = dialogue_of(self.engine, is_owned=self.is_owned)
        self._turn = follow(self.engine)
        self._failures = (*FAILURES, self.engine.dialect.loaded_dbapi.Error)

    @property
    def _kind(self) -> str:
        return self.engine.dialect.name

    @property
    def where(self) -> str:
        """The database's address, without a password."""
        return self.engine.url.render_as_string(hide_password=True)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Return what `work` makes of one unchanging state of the database.

        Raises:
            StoreError: The database failed, with ``transient=True`` where the same may succeed in a moment.
        """
        return self._run(self._dialogue.begin_read, work, writes=False)

    def look(self, work: Callable[[Transaction], Result]) -> Result:
        """Return what `work` reads of the schema.

        Raises:
            StoreError: As for `read`.
        """
        return self._run(self._dialogue.begin_look, work, writes=False)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Return what `work` returns, once everything that it wrote is committed; where it raises, nothing is written.

        Raises:
            StoreError: The database failed. With ``outcome_unknown=True`` where it failed at the COMMIT itself.
        """
        return self._run(self._dialogue.begin_write, work, writes=True)

    def close(self) -> None:
        """Close the engine if it was made here. Any later transaction raises `StoreError`."""
        if not self._is_closed and self.is_owned:
            with self._turn:
                self.engine.dispose()
        self._is_closed = True

    def _run(self, begin: tuple[str, ...], work: Callable[[Transaction], Result], *, writes: bool) -> Result:
        due = time.monotonic() + self.wait_seconds
        while True:
            try:
                return self._once(begin, work, due, writes=writes)
            except _DiedInPoolError as died:
                if time.monotonic() > due:  # the server may be silent, and not gone
                    raise translate(died.error, self.where, self._kind) from died.error
                self.engine.dispose()  # what lay idle beside it died with it; new ones are made
            except self._failures as error:
                raise translate(error, self.where, self._kind) from error

    def _once(
        self, begin: tuple[str, ...], work: Callable[[Transaction], Result], due: float, *, writes: bool
    ) -> Result:
        with self._turn, self._connection() as connection, self._deadline(connection, due):
            cursor = connection.cursor()
            for statement in begin:
                cursor.execute(statement)
            result = work(Transaction(cursor, self._prepare, self._dialogue))
            self._commit(cursor, writes=writes)
            return result

    def _commit(self, cursor: Any, *, writes: bool) -> None:
        try:
            cursor.execute("COMMIT")
        except self._failures as error:
            if not writes:
                raise
            raise translate(error, self.where, self._kind, committing=True) from error

    @contextmanager
    def _connection(self) -> Iterator[PoolProxiedConnection]:
        if self._is_closed:
            raise StoreError("the store is closed; make a new one")
        connection = self._checked_out()
        was_idle, connection.info[_USED] = _USED in connection.info, True
        is_taken_over = False
        try:
            is_taken_over = not self.is_owned and take_over(connection.driver_connection, self.engine)
            yield connection
        except self._failures as error:
            self._undo(connection, error)
            if was_idle and is_lost(error, self._kind):
                raise _DiedInPoolError(error) from error
            raise
        except BaseException as error:
            self._undo(connection, error)
            raise
        finally:
            if is_taken_over and connection.is_valid:
                give_back(connection.driver_connection, self.engine)
            connection.close()

    def _checked_out(self) -> PoolProxiedConnection:
        try:
            connection = self.engine.raw_connection()
        except self._failures as error:
            if self._has_connected or not is_lost(error, self._kind):
                raise
            raise self._unreachable() from error
        except RuntimeError as error:  # PyMySQL raises it for what its ways to log in need
            raise StoreError(
                f"{self.where} asks for a way to log in that the driver cannot go; the cause names the package to "
                f"install; nothing changed"
            ) from error
        self._has_connected = True
        return connection

    def _unreachable(self) -> StoreError:
        # Before the first contact it is more likely a wrong address than a server that restarts, but not at once:
        # psycopg has no code for a connection that is refused, whatever the reason.
        now = time.monotonic()
        self._unreachable_since = self._unreachable_since or now
        return StoreError(
            f"{self.where} cannot be reached; check host, port, user, password and the database's name, and whether "
            f"it takes more connections; nothing changed",
            transient=now - self._unreachable_since < _STARTS_WITHIN_SECONDS,
        )

    def _undo(self, connection: PoolProxiedConnection, error: BaseException) -> None:
        if isinstance(error, self._failures) and is_lost(error, self._kind):
            connection.invalidate(error)
            return
        try:
            if getattr(connection.driver_connection, "in_transaction", True):
                with self._deadline(connection, time.monotonic()):
                    connection.cursor().execute("ROLLBACK")
        except self._failures as failure:
            # What cannot even roll back is no connection any more; the database forgets the rest.
            connection.invalidate(failure)
            error.add_note(f"ROLLBACK failed too: {type(failure).__name__}")

    def _deadline(self, connection: PoolProxiedConnection, due: float) -> AbstractContextManager[None]:
        fileno = getattr(connection.driver_connection, "fileno", None)
        seconds = max(due - time.monotonic(), _LEAST_SECONDS)
        return nullcontext() if fileno is None else deadline(fileno(), seconds, self._failures)

    def _prepare(self, statement: Executable) -> Prepared:
        prepared = self._prepared.get(statement)
        if prepared is None:
            prepared = self._prepared[statement] = _compile(statement, self.engine)
        return prepared


def _compile(statement: Any, engine: Engine) -> Prepared:
    compiled = statement.compile(dialect=engine.dialect)
    binds = getattr(compiled, "binds", {})  # what makes a table has none
    constants = {name: bind.value for name, bind in binds.items() if not bind.required}
    names = tuple(getattr(compiled, "positiontup", None) or ()) if engine.dialect.positional else None
    return Prepared(str(compiled), names, constants)
