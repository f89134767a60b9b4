"""What the command line takes: names, defaults and help. Knows no file, no memory and no library but argparse."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final, Literal

from attrs import frozen

from chatmemory.core.entries import EvictionUnit, OverflowPolicy
from chatmemory.core.eviction import EvictTo

_DESCRIPTION: Final = "Chat memory inside a budget: replay conversations through it, and show what is stored."
_REPLAY: Final = (
    "Add each conversation, message by message, to a memory with the given limit, and print one row for each. A file "
    "holds a JSON array of OpenAI-style messages, an object with 'messages' (and an 'id'), or JSON lines of those. "
    "Without an id, a conversation is called after its file, with the number of its line in JSON lines. The exit "
    "status is 1 where something could not be read or accepted."
)
_SHOW: Final = "Print the window of one stored conversation. Nothing is changed, also where it is above a limit."
_DB: Final = "database, such as sqlite:///chat.db"
_SCHEMA: Final = (
    "Look after the tables of a database. 'upgrade' makes them, or brings older ones to the newest revision: make a "
    "backup first, nothing leads back. 'current' prints the revision that is there. 'check' says what to run where "
    "that is not the newest, and its exit status is then 1."
)
_PARTITIONS: Final = "for PostgreSQL, where there are no tables yet: how many parts each is split into, by conversation"
_NAMES: Final = {"url_or_engine": "--db", "conversation_id": "ID", "id": "ID"}


@frozen(kw_only=True)
class Replay:
    """``chatmemory replay``: what to read, the limits, and what to print."""

    files: tuple[str, ...]
    sample: bool
    max_tokens: int | None
    max_messages: int | None
    evict_to: EvictTo
    unit: EvictionUnit
    overflow: OverflowPolicy
    guarded: bool
    approximate: bool
    db: str | None
    show: bool
    json: bool


@frozen(kw_only=True)
class Show:
    """``chatmemory show``: one stored conversation."""

    id: str
    db: str
    json: bool


SchemaAction = Literal["upgrade", "current", "check"]


@frozen(kw_only=True)
class Schema:
    """``chatmemory db``: what to do with the tables of one database."""

    action: SchemaAction
    db: str
    partitions: int = 0


Command = Replay | Show | Schema


def parse(arguments: Sequence[str] | None) -> Command | None:
    """Return the command that `arguments` give; None where they name none.

    Raises:
        SystemExit: With 0 after printing the help, with 2 after saying what is wrong.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command == "replay":
        return _replay(parser, given)
    if given.command == "show":
        return Show(id=given.id, db=given.db, json=given.json)
    if given.command == "db":
        return Schema(action=given.action, db=given.db, partitions=getattr(given, "partitions", 0))
    return None


def usage() -> str:
    """Return the whole help."""
    return _parser().format_help()


def name_of(argument: str) -> str:
    """Return how the command line calls an argument of the library.

    Example:
        >>> name_of("max_tokens"), name_of("url_or_engine")
        ('--max-tokens', '--db')
    """
    return _NAMES.get(argument, f"--{argument.replace('_', '-')}")


def _replay(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Replay:
    if not given.files and not given.sample:
        parser.error("replay: give a FILE (- for standard input), or --sample")
    if given.max_tokens is None and given.max_messages is None:
        parser.error("replay: give --max-tokens, --max-messages, or both")
    return Replay(
        files=tuple(given.files),
        sample=given.sample,
        max_tokens=given.max_tokens,
        max_messages=given.max_messages,
        evict_to=given.evict_to,
        unit=given.unit,
        overflow=given.overflow,
        guarded=not given.no_guards,
        approximate=given.approximate,
        db=given.db,
        show=given.show,
        json=given.json,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chatmemory", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"pychatmemory {version('pychatmemory')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_replay(commands.add_parser("replay", help="replay conversations through a memory", description=_REPLAY))
    _add_show(commands.add_parser("show", help="print a stored window", description=_SHOW))
    _add_db(commands.add_parser("db", help="upgrade or check a database's tables", description=_SCHEMA))
    return parser


def _add_replay(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="file to read; - is standard input")
    add("--sample", action="store_true", help="replay the conversation that ships with chatmemory, called 'parcel'")
    add("--max-tokens", type=int, metavar="N", help="tokens that a window may have")
    add("--max-messages", type=int, metavar="N", help="messages that a window may have")
    add("--evict-to", type=mark, metavar="MARK", help="evict down to a share (0.7) or a number of the limit")
    add("--unit", choices=("message", "turn"), default="message", help="what leaves together (default: message)")
    add("--overflow", choices=("evict", "raise", "keep"), default="evict", help="what happens to a message too long")
    add("--no-guards", action="store_true", help="evict strictly first in, first out")
    add("--approximate", action="store_true", help="estimate tokens, without tiktoken's files")
    add("--db", metavar="URL", help=f"{_DB}, to store the conversations in; an id that is there already is refused")
    add("--show", action="store_true", help="print the windows too, as 'show' does")
    add("--json", action="store_true", help="print JSON, one line a conversation")


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the conversation's id, as replay printed it")
    parser.add_argument("--db", metavar="URL", required=True, help=_DB)
    parser.add_argument("--json", action="store_true", help="print JSON, on one line")


def _add_db(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    upgrade = actions.add_parser("upgrade", help="make the tables, or bring them to the newest revision")
    upgrade.add_argument("--partitions", type=int, metavar="N", default=0, help=_PARTITIONS)
    current = actions.add_parser("current", help="print the revision that is there")
    check = actions.add_parser("check", help="exit with 1 unless that is the newest")
    for action in (upgrade, current, check):
        action.add_argument("--db", metavar="URL", required=True, help=_DB)


def mark(text: str) -> float | int:
    """Read what `evict_to` takes: a share, which has a point, or a number. An error of argparse names this function."""
    return float(text) if "." in text else int(text)
