"""Codes of servers → what the error says of them: may the same succeed in a moment, and what if it was the COMMIT."""

from __future__ import annotations

import psycopg
import pymysql
import pytest

from chatmemory import StoreError
from chatmemory.errors import ConflictError
from chatmemory.stores._sql_errors import is_lost, translate

MAY_PASS, WILL_NOT = True, False
CERTAIN, UNKNOWN = False, True

POSTGRESQL = [
    ("40001 40P01 55P03 57014 53300 53200", MAY_PASS, CERTAIN, "again|connections"),
    ("57P01 57P02 57P03 57P05 25P03 08000 08001 08006 08P01", MAY_PASS, UNKNOWN, "closed the connection"),
    ("53100", WILL_NOT, CERTAIN, "free some space"),
    ("25006", WILL_NOT, CERTAIN, "use the primary"),
    ("42501", WILL_NOT, CERTAIN, "grant the right"),
    ("28000 28P01", WILL_NOT, CERTAIN, "check name, password"),
    ("3D000", WILL_NOT, CERTAIN, "create it first"),
    ("54000", WILL_NOT, CERTAIN, "shorten the message"),
    ("26000 42P05", WILL_NOT, CERTAIN, "prepare_threshold"),
    ("XX000", WILL_NOT, UNKNOWN, "the cause says why"),
]
MARIADB = [
    ("1213 1020 1412 1205 1969 3024 1040 1203", MAY_PASS, CERTAIN, "again|connections"),
    ("1053 1927 2002 2003 2006 2013", MAY_PASS, UNKNOWN, "closed the connection"),
    ("1047", MAY_PASS, CERTAIN, "lost its cluster"),
    ("1180", MAY_PASS, UNKNOWN, "lost its cluster"),
    ("1021 1114", WILL_NOT, CERTAIN, "free some space"),
    ("1290 1792 1836", WILL_NOT, CERTAIN, "use the primary"),
    ("1044 1142", WILL_NOT, CERTAIN, "grant the right"),
    ("1045", WILL_NOT, CERTAIN, "check name, password"),
    ("1049", WILL_NOT, CERTAIN, "create it first"),
    ("1153 1301 1406", WILL_NOT, CERTAIN, "shorten the message"),
    ("1105", WILL_NOT, UNKNOWN, "the cause says why"),
]


class NumberedError(Exception):
    """As mysql-connector raises it: the number is an attribute, and the first argument a text."""

    def __init__(self, number: int) -> None:
        super().__init__("a text")
        self.errno = number


def check(found: StoreError, *, transient: bool, unknown: bool, words: str) -> None:
    """It says what is expected, and it says 'nothing changed' where that is certain."""
    assert (transient, unknown) == (found.transient, found.outcome_unknown)
    assert unknown is not str(found).endswith("nothing changed")
    with pytest.raises(StoreError, match=words):
        raise found


@pytest.mark.parametrize(("codes", "transient", "unknown", "words"), POSTGRESQL)
def test_what_postgresql_says(codes: str, words: str, *, transient: bool, unknown: bool) -> None:
    """A SQLSTATE says whether to try again, and whether a COMMIT that it came out of may have happened."""
    for code in codes.split():
        error = type("DriverError", (psycopg.Error,), {"sqlstate": code})()
        check(
            translate(error, "here", "postgresql", committing=True), transient=transient, unknown=unknown, words=words
        )
        check(translate(error, "here", "postgresql"), transient=transient, unknown=False, words=words)


@pytest.mark.parametrize(("codes", "transient", "unknown", "words"), MARIADB)
def test_what_mariadb_says(codes: str, words: str, *, transient: bool, unknown: bool) -> None:
    """A number says the same, wherever the driver keeps it."""
    for number in map(int, codes.split()):
        for error in (pymysql.err.OperationalError(number, "a text"), NumberedError(number)):
            for kind in ("mysql", "mariadb"):
                found = translate(error, "here", kind, committing=True)
                check(found, transient=transient, unknown=unknown, words=words)
                check(translate(error, "here", kind), transient=transient, unknown=False, words=words)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.UniqueViolation(), "postgresql"),
        (pymysql.err.IntegrityError(1062, "a text"), "mariadb"),
        (pymysql.err.IntegrityError(1062, "a text"), "mysql"),
    ],
)
def test_a_row_that_is_there_already(error: Exception, kind: str) -> None:
    """A duplicate key is a conflict with another writer, on every server."""
    assert isinstance(translate(error, "here", kind), ConflictError)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.OperationalError("a text"), "postgresql"),
        (psycopg.InterfaceError("a text"), "postgresql"),
        (pymysql.err.InterfaceError(0, ""), "mariadb"),
        (pymysql.err.OperationalError(1047, "a text"), "mariadb"),
        (pymysql.err.OperationalError(1180, "a text"), "mariadb"),
    ],
)
def test_a_connection_that_is_of_no_use(error: Exception, kind: str) -> None:
    """A connection does not go back into the pool where its driver has no code left to say, or its node no cluster."""
    assert is_lost(error, kind)
