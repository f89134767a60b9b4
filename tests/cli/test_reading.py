"""Conversations out of files: the forms, their names, and what is said of what cannot be read."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from chatmemory.cli.reading import SAMPLE, Broken, Conversation, Found, read
from tests.cli.command import user, write

HELLO = [user("hello")]


def found_in(path: Path, content: str | bytes) -> list[Found]:
    """Write `content` to `path` and read it."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read(str(path)))


def ids_in(path: Path, content: str | bytes) -> list[str]:
    """Return the ids of the conversations in `content`."""
    return [one.id for one in found_in(path, content) if isinstance(one, Conversation)]


def problem_in(path: Path, content: str | bytes) -> str:
    """Return the one problem in `content`, with its place, without the folder."""
    (broken,) = (one for one in found_in(path, content) if isinstance(one, Broken))
    return str(broken).removeprefix(f"{path.parent}{os.sep}")


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("chat.json", json.dumps(HELLO), ["chat"]),
        ("chat.json", json.dumps(HELLO, indent=2), ["chat"]),
        ("chat.json", json.dumps({"messages": HELLO}, indent=2), ["chat"]),
        ("chat.json", json.dumps({"id": "7b", "messages": HELLO}), ["7b"]),
        ("chat.json", json.dumps({"id": 7, "messages": HELLO}), ["7"]),
        ("chat.json", f"{json.dumps(HELLO)}\n{json.dumps({'messages': HELLO})}\n", ["chat:1", "chat:2"]),
        ("chat.jsonl", f"{json.dumps(HELLO)}\n", ["chat:1"]),
        ("chat.jsonl", f"\n{json.dumps(HELLO)}\r\n \n{json.dumps(HELLO)}", ["chat:2", "chat:4"]),
        ("chat.json", b"\xef\xbb\xbf" + json.dumps(HELLO).encode(), ["chat"]),
        ("chat.json", "[]", ["chat"]),
        ("chat.jsonl", json.dumps({"messages": HELLO}, indent=2), ["chat"]),
    ],
)
def test_forms(tmp_path: Path, name: str, content: str | bytes, ids: list[str]) -> None:
    """An array, an object and lines of either are conversations, called by their id or by file and line."""
    assert ids == ids_in(tmp_path / name, content)


def test_messages_are_as_in_the_file(tmp_path: Path) -> None:
    """Reading changes nothing in the messages, whatever they are."""
    odd = [user("a \u2028 b"), {"role": "robot"}, 3, None]
    (found,) = read(write(tmp_path / "chat.json", odd))
    assert isinstance(found, Conversation)
    assert odd == found.messages


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "chat.json:1: is empty; give JSON"),
        ('[\n{"role": "user",\n]', "chat.json:3: is no JSON: "),
        (b'[{"role": "user", "content": "\xff"}]', "chat.json:1: is no UTF-8; convert it"),
        (b'[\n{"role": "user", "content": "\xff"}]', "chat.json:2: is no UTF-8; convert it"),
        (b"\x1f\x8b\x00\x00", "chat.json: is no text, since it holds NUL bytes; give JSON in UTF-8"),
        ("3", "chat.json: is no conversation; give an array of messages"),
        ('{"messages": {}}', "chat.json: is no conversation; give an array of messages"),
        ('{"id": [1], "messages": []}', "chat.json: has an id of type list; give a string"),
        ("[" * 200_000, "chat.json:1: is nested too deeply"),
        (f"[{'1' * 5000}]", "chat.json:1: holds a number with too many digits"),
    ],
)
def test_problems(tmp_path: Path, content: str | bytes, problem: str) -> None:
    """What is no conversation is named with its file and line, what is wrong, and what to do."""
    assert problem_in(tmp_path / "chat.json", content).startswith(problem)


@pytest.mark.parametrize("broken", ['[{"role": "user", "content": "hunter2"', "hunter2", '{"role": "hunter2"}'])
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("name", ["chat.jsonl", "chat.txt"])
def test_a_broken_line_stops_nothing(tmp_path: Path, broken: str, at: int, name: str) -> None:
    """Of three lines, one of which is broken, two are read; the problem names the line and does not quote it."""
    lines = [json.dumps(HELLO), json.dumps(HELLO)]
    lines.insert(at, broken)
    content = "\n".join(lines)
    assert [f"chat:{number + 1}" for number in range(3) if number != at] == ids_in(tmp_path / name, content)
    assert problem_in(tmp_path / name, content).startswith(f"{name}:{at + 1}: is no ")
    assert "hunter2" not in problem_in(tmp_path / name, content)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    """A missing file and a folder are problems of their own, not the end of everything."""
    found = [*read(str(tmp_path / "nothing.json")), *read(str(tmp_path))]
    assert [Broken, Broken] == [type(one) for one in found]
    assert ["No such file or directory", "Is a directory"] == [str(one).split(": ")[1].split(";")[0] for one in found]


def test_lines_are_read_one_by_one(tmp_path: Path) -> None:
    """A conversation is there before the rest of its file is: here the writer waits until it was seen."""
    path, seen = tmp_path / "pipe.jsonl", threading.Event()
    os.mkfifo(path)

    def fill() -> None:
        with path.open("w") as file:
            file.write(f"{json.dumps(HELLO)}\n" * 3)
            file.flush()
            seen.wait(60)
            file.write(json.dumps(HELLO))

    writer = threading.Thread(target=fill)
    writer.start()
    conversations = read(str(path))
    first = next(conversations)
    seen.set()
    rest = list(conversations)
    writer.join()
    assert ["pipe:1", "pipe:2", "pipe:3", "pipe:4"] == [getattr(one, "id", None) for one in (first, *rest)]


def test_the_sample_has_what_breaks_other_memories() -> None:
    """The shipped conversation has parallel calls, a late result, results out of order, and an id used three times."""
    (sample,) = read(str(SAMPLE))
    assert isinstance(sample, Conversation)
    calls = [[one["id"] for one in message.get("tool_calls", ())] for message in sample.messages]
    roles = [message["role"] for message in sample.messages]
    assert ("parcel", 29, "system", 1) == (sample.id, len(roles), roles[0], roles.count("system"))
    assert 2 <= sum(len(ids) > 1 for ids in calls)
    assert 3 == sum(ids.count("call_1") for ids in calls)
    assert ("tool", "user", "tool") in zip(roles, roles[1:], roles[2:], strict=False)
    assert ["call_6", "call_5"] == [message["tool_call_id"] for message in sample.messages[18:20]]
