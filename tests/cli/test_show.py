"""``chatmemory show``: the window of another process, as it is, and nothing changed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from urllib.parse import quote

import pytest

from chatmemory import ChatMemory, MessageWindowChatMemory, TokenWindowChatMemory
from chatmemory.cli import main
from chatmemory.cli.reading import SAMPLE
from chatmemory.formats import from_openai
from chatmemory.stores import SqlChatMemoryStore
from tests.cli.command import call, process, result, user

Capsys = pytest.CaptureFixture[str]


def dump(path: Path) -> list[str]:
    """Return all that is in a database."""
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def sample_memory() -> ChatMemory:
    """Return a memory of this process with the sample in it."""
    memory = TokenWindowChatMemory(max_tokens=400)
    for message in json.loads(SAMPLE.read_text("utf-8"))["messages"]:
        memory.add(message)
    return memory


def test_a_second_process_shows_the_same_window(tmp_path: Path) -> None:
    """What one process replayed into SQLite, a second one shows: the same table, and the entries that a memory has."""
    url = f"sqlite:///{tmp_path.as_posix()}/chat.db"
    done = [
        process("replay", "--sample", "--max-tokens", "400", "--db", url, "--show", folder=tmp_path),
        process("show", "parcel", "--db", url, folder=tmp_path),
        process("show", "parcel", "--db", url, "--json", folder=tmp_path),
    ]
    assert [(0, "")] * 3 == [(one.returncode, one.stderr) for one in done]
    assert done[1].stdout.startswith("parcel: messages 13, 385 tokens and what a request costs besides, version 29")
    assert done[0].stdout.endswith(done[1].stdout)
    shown = json.loads(done[2].stdout)
    window = sample_memory().window()
    assert (window.version, [(entry.seq, entry.kind, entry.tokens) for entry in window]) == (
        shown["version"],
        [(entry["seq"], entry["kind"], entry["tokens"]) for entry in shown["entries"]],
    )
    assert window.messages() == from_openai(entry["message"] for entry in shown["entries"])


def test_nothing_is_changed(tmp_path: Path, capsys: Capsys) -> None:
    """A window of 50 messages is shown in full, and the database is the same afterwards."""
    path = tmp_path / "chat.db"
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        MessageWindowChatMemory("a", max_messages=50, store=store).extend(user(f"message {n}") for n in range(50))
    before = dump(path)
    assert 0 == main(["show", "a", "--db", f"sqlite:///{path}", "--json"])
    assert 50 == len(json.loads(capsys.readouterr().out)["entries"])
    assert before == dump(path)


def test_results_stand_behind_their_calls(tmp_path: Path, capsys: Capsys) -> None:
    """The order is that of `messages()`, not that of the rows (R3)."""
    url = f"sqlite:///{tmp_path}/chat.db"
    with SqlChatMemoryStore(url) as store:
        memory = MessageWindowChatMemory("a", max_messages=9, store=store)
        memory.extend([user("1"), call("x"), user("2"), result("x")])
    main(["show", "a", "--db", url, "--json"])
    assert [1, 2, 4, 3] == [entry["seq"] for entry in json.loads(capsys.readouterr().out)["entries"]]


def test_an_unknown_conversation(tmp_path: Path, capsys: Capsys) -> None:
    """An id that is not there gives status 1, and the ids that are."""
    url = f"sqlite:///{tmp_path}/chat.db"
    with SqlChatMemoryStore(url) as store:
        MessageWindowChatMemory("a", max_messages=9, store=store).add(user("1"))
    assert 1 == main(["show", "b", "--db", url])
    assert "chatmemory: the database has no conversation 'b'; its first are 'a'\n" == capsys.readouterr().err


def test_a_database_that_is_not_there(tmp_path: Path, capsys: Capsys) -> None:
    """A mistyped path is an error, and makes no file."""
    assert 1 == main(["show", "a", "--db", f"sqlite:///{tmp_path}/typo.db"])
    assert "there is no file" in capsys.readouterr().err
    assert [] == list(tmp_path.iterdir())


def test_a_path_with_odd_characters(tmp_path: Path, capsys: Capsys) -> None:
    """A path that stands quoted in the URL is found."""
    url = f"sqlite:///{quote(f'{tmp_path}/my chat.db')}"
    with SqlChatMemoryStore(url) as store:
        MessageWindowChatMemory("a", max_messages=9, store=store).add(user("1"))
    assert 0 == main(["show", "a", "--db", url])
    assert capsys.readouterr().out.startswith("a: messages 1, tokens not counted, version 1")
