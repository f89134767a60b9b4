"""Conversations out of files: JSON documents and JSON lines, told apart by what they hold.

Decides: what is a conversation, what it is called, and what is said of a line that holds none. One broken line never
stops the rest. JSON lines are read one by one, however long the file is. Knows no message: `replaying` reads those.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from attrs import frozen

STANDARD_INPUT: Final = "-"
SAMPLE: Final = Path(__file__).parent / "examples" / "parcel.json"
"""The conversation that ships with the project."""

_LINE_SUFFIXES: Final = (".jsonl", ".ndjson")
_PEEKED_BYTES: Final = 8192
_NumberedLine = tuple[int, bytes]


@frozen(repr=False)
class Conversation:
    """A conversation as a file holds it.

    Attributes:
        id: Its own id, or the file's name without suffix, with the line's number in JSON lines.
        source: File and line.
        messages: As they stand in the file; anything may be among them.
    """

    id: str
    source: str
    messages: list[Any]


@frozen
class Broken:
    """What could not be read: file and line, and what is wrong there, without quoting it."""

    source: str
    problem: str

    def __str__(self) -> str:
        return f"{self.source}: {self.problem}"


Found = Conversation | Broken


class _UnreadableError(Exception):
    """Text that is no JSON. `line` counts from 1 in that text."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def read(name: str) -> Iterator[Found]:
    """Read the conversations in one file; ``-`` is standard input. What cannot be read is found as `Broken`."""
    if name == STANDARD_INPUT:
        yield from _read_open("stdin", cast("BufferedReader", sys.stdin.buffer))
        return
    try:
        with Path(name).open("rb") as file:
            yield from _read_open(name, file)
    except OSError as error:
        yield Broken(name, f"{error.strerror or 'cannot be read'}; give the path of a file that can be read")


def _read_open(name: str, file: BufferedReader) -> Iterator[Found]:
    if _is_binary(file):
        yield Broken(name, "is no text, since it holds NUL bytes; give JSON in UTF-8")
        return
    stem, suffix = Path(name).stem, Path(name).suffix
    lines = enumerate(file, start=1)
    head = _first_two(lines)
    filled = [line for line in head if line[1].strip()]
    is_alone = len(filled) == 1 and suffix not in _LINE_SUFFIXES
    if filled and not is_alone and _holds_conversation(filled[0][1]):
        yield from _read_lines(name, stem, chain(head, lines))
    else:
        yield from _read_whole(name, stem, list(chain(head, lines)))


def _is_binary(file: BufferedReader) -> bool:
    return b"\0" in file.peek(_PEEKED_BYTES)[:_PEEKED_BYTES]


def _first_two(lines: Iterator[_NumberedLine]) -> list[_NumberedLine]:
    """Take lines until two of them hold something: a document on one line has no second."""
    taken, filled = list[_NumberedLine](), 0
    for line in lines:
        taken.append(line)
        filled += bool(line[1].strip())
        if filled == 2:  # noqa: PLR2004 - it says so
            break
    return taken


def _holds_conversation(line: bytes) -> bool:
    try:
        return isinstance(_conversation(_parse(line), "", ""), Conversation)
    except _UnreadableError:
        return False


def _read_lines(name: str, stem: str, lines: Iterable[_NumberedLine]) -> Iterator[Found]:
    for number, line in lines:
        if line.strip():
            source = f"{name}:{number}"
            try:
                yield _conversation(_parse(line), f"{stem}:{number}", source)
            except _UnreadableError as error:
                yield Broken(source, error.problem)


def _read_whole(name: str, stem: str, lines: list[_NumberedLine]) -> Iterator[Found]:
    try:
        yield _conversation(_parse(b"".join(line for _, line in lines)), stem, name)
    except _UnreadableError as error:
        # JSON lines whose first is broken look like a document at first.
        if any(_holds_conversation(line) for _, line in lines):
            yield from _read_lines(name, stem, lines)
        else:
            yield Broken(f"{name}:{error.line}", error.problem)


def _conversation(value: Any, default_id: str, source: str) -> Found:
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list):
        return Broken(source, "is no conversation; give an array of messages, or an object with them in 'messages'")
    own_id = value.get("id") if isinstance(value, dict) else None
    if own_id is None:
        return Conversation(default_id, source, messages)
    if not isinstance(own_id, str | int):
        return Broken(source, f"has an id of type {type(own_id).__name__}; give a string, or leave it out")
    return Conversation(str(own_id), source, messages)


def _parse(text: bytes) -> Any:
    try:
        plain = text.decode("utf-8-sig")
        if not plain.strip():
            raise _UnreadableError("is empty; give JSON", 1)
        return json.loads(plain)
    except UnicodeDecodeError as error:
        raise _UnreadableError("is no UTF-8; convert it", text.count(b"\n", 0, error.start) + 1) from error
    except json.JSONDecodeError as error:
        problem = f"is no JSON: {error.msg} at character {error.colno}; correct or remove it"
        raise _UnreadableError(problem, error.lineno) from error
    except RecursionError as error:
        raise _UnreadableError("is nested too deeply to be read; make it flatter", 1) from error
    except ValueError as error:
        raise _UnreadableError("holds a number with too many digits; write it as a string", 1) from error
