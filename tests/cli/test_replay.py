"""``chatmemory replay``: what a row says is what happened in the memory, and nothing stops the rest."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from chatmemory import (
    ApproximateCounter,
    ChatMemory,
    MessageWindowChatMemory,
    TokenBudget,
    TokenWindowChatMemory,
    Window,
    WindowOverflowError,
    to_openai,
)
from chatmemory.cli import main
from chatmemory.cli.reading import SAMPLE, Conversation, read
from chatmemory.cli.replaying import replay
from chatmemory.formats import from_openai
from chatmemory.stores import SqlChatMemoryStore
from tests.cli.command import answer, call, replayed, result, system, user, write

Capsys = pytest.CaptureFixture[str]


@pytest.mark.parametrize("limit", [60, 150, 400, 2000])
def test_a_row_is_what_the_memory_did(capsys: Capsys, limit: int) -> None:
    """Messages, window, tokens, evictions by reason and refusals by guard are those of a memory given the same."""
    memory = TokenWindowChatMemory(max_tokens=limit)
    changes = [memory.add(message) for message in json.loads(SAMPLE.read_text("utf-8"))["messages"]]
    reasons = Counter(removal.reason for change in changes for removal in change.removed)
    guards = Counter(guard for change in changes for refusal in change.refused for guard in refusal.guards)
    status, (row,), problems = replayed(capsys, "--sample", "--max-tokens", str(limit))
    assert (0, []) == (status, problems)
    assert (29, len(memory.window()), memory.tokens) == (row["messages"], row["window"], row["tokens"])
    assert (dict(reasons), dict(guards), {}, []) == (
        row["evicted"],
        row["refused"],
        row["findings"],
        row["not_accepted"],
    )


def test_a_system_message_too_long_is_left_out(tmp_path: Path, capsys: Capsys) -> None:
    """A system message that is alone over the limit is reported, and the rest goes on without it."""
    path = write(tmp_path / "chat.json", [system("word " * 100), user("hi"), answer("hello")])
    status, (row,), _ = replayed(capsys, path, "--max-tokens", "40")
    assert (1, 3, 2) == (status, row["messages"], row["window"])
    assert [0] == [one["index"] for one in row["not_accepted"]]
    assert row["not_accepted"][0]["reason"].startswith("messages[0]: the system message does not fit: ")


def test_a_message_that_is_not_accepted_is_named(tmp_path: Path, capsys: Capsys) -> None:
    """Each message that the memory does not take is named with its index, its path and the reason."""
    path = write(tmp_path / "chat.json", [user("hi"), {"role": "robot"}, 3, {"role": "user", "content": [{"type": 1}]}])
    status, (row,), _ = replayed(capsys, path, "--max-messages", "9")
    reasons = [one["reason"] for one in row["not_accepted"]]
    assert (1, 4, 1, [1, 2, 3]) == (
        status,
        row["messages"],
        row["window"],
        [one["index"] for one in row["not_accepted"]],
    )
    assert reasons[0].startswith("messages[1].role is none of ")
    assert reasons[1].startswith("messages[2] is of type int")
    assert reasons[2].startswith("messages[3].content[0]")


def test_findings_of_any_window_are_counted_once(tmp_path: Path, capsys: Capsys) -> None:
    """A message that the provider would refuse is one finding, however many windows held it, also once it has left."""
    sound = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    path = write(
        tmp_path / "chat.json",
        [{"role": "assistant", "content": [sound]}, user("a"), answer("b"), user("c"), user("d")],
    )
    status, (row,), _ = replayed(capsys, path, "--max-messages", "3")
    assert (0, {"unsupported_part": 1}) == (status, row["findings"])


def test_waiting_calls_are_those_of_the_last_window(tmp_path: Path, capsys: Capsys) -> None:
    """A call waits until its result comes: only one that still waits at the end is a finding."""
    path = write(tmp_path / "chat.json", [user("a"), call("1"), result("1"), call("2"), result("2"), call("3")])
    _, (row,), _ = replayed(capsys, path, "--max-messages", "9")
    assert {"pending_call": 1} == row["findings"]


class _SplitsPairs(ChatMemory):
    """A memory with a fault: its window begins one message too late."""

    def window(self) -> Window:
        window = super().window()
        return evolve(window, entries=window.entries[1:])


def test_an_invalid_window_would_be_seen() -> None:
    """Windows are checked as they are: a result without its call is found, also if it was there for one step only."""
    conversation = Conversation("c", "c", [call("1"), result("1"), user("next")])
    memory = _SplitsPairs(strategy=TokenBudget(999), counter=ApproximateCounter())
    assert {"empty_list": 1, "orphan_result": 1} == replay(conversation, memory, step=lambda: None).findings


def test_stand_ins_of_the_converter_are_left_out(tmp_path: Path, capsys: Capsys) -> None:
    """What `to_openai` wrote for a missing result is no message of the conversation (R13)."""
    given = [user("hi"), call("1", "2"), result("1"), user("never mind")]
    path = write(tmp_path / "chat.json", to_openai(from_openai(given)))
    _, (row,), _ = replayed(capsys, path, "--max-messages", "9")
    assert (4, 4) == (row["messages"], row["window"])


LONG = [
    user("one"),
    answer("two"),
    call("1"),
    result("1"),
    user("three"),
    answer("four " * 60),
    user("five"),
    user("6"),
]
TOKENS = ["--max-tokens", "40", "--approximate"]
MESSAGES = ["--max-messages", "7"]


def tokens(**settings: Any) -> ChatMemory:
    """Return the memory that TOKENS describe, with other settings."""
    return TokenWindowChatMemory(max_tokens=40, counter=ApproximateCounter(), **settings)


def messages(**settings: Any) -> ChatMemory:
    """Return the memory that MESSAGES describe, with other settings."""
    return MessageWindowChatMemory(max_messages=7, **settings)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        (TOKENS, tokens()),
        ([*TOKENS, "--overflow", "keep"], tokens(overflow="keep")),
        ([*TOKENS, "--overflow", "raise"], tokens(overflow="raise")),
        ([*TOKENS, "--evict-to", "0.5"], tokens(evict_to=0.5)),
        ([*TOKENS, "--evict-to", "30"], tokens(evict_to=30)),
        ([*TOKENS, "--unit", "turn"], tokens(unit="turn")),
        (["--max-tokens", "40"], TokenWindowChatMemory(max_tokens=40)),
        (MESSAGES, messages()),
        ([*MESSAGES, "--evict-to", "0.5"], messages(evict_to=0.5)),
        ([*MESSAGES, "--evict-to", "2"], messages(evict_to=2)),
        ([*MESSAGES, "--unit", "turn"], messages(unit="turn")),
        ([*MESSAGES, "--approximate"], messages(counter=ApproximateCounter())),
        ([*MESSAGES, *TOKENS], messages(max_tokens=40, counter=ApproximateCounter())),
    ],
)
def test_options_reach_the_memory(tmp_path: Path, capsys: Capsys, options: list[str], same: ChatMemory) -> None:
    """Each option is the argument of its name: the window is that of a memory which was given it."""
    for message in LONG:
        with suppress(WindowOverflowError):
            same.add(message)
    _, (row,), _ = replayed(capsys, write(tmp_path / "chat.json", LONG), "--show", *options)
    window = same.window()
    assert [(entry.seq, entry.tokens) for entry in window] == [(one["seq"], one["tokens"]) for one in row["entries"]]
    assert (window.version, window.tokens, window.over_budget) == (row["version"], row["tokens"], row["over_budget"])


@pytest.mark.parametrize(
    ("base", "option"),
    [
        (TOKENS, ["--overflow", "keep"]),
        (TOKENS, ["--overflow", "raise"]),
        (MESSAGES, ["--evict-to", "2"]),
        (MESSAGES, ["--unit", "turn"]),
        (MESSAGES, ["--approximate"]),
        (MESSAGES, TOKENS),
    ],
)
def test_options_matter(tmp_path: Path, capsys: Capsys, base: list[str], option: list[str]) -> None:
    """The conversation of the test above is one for which the options make a difference."""
    path = write(tmp_path / "chat.json", LONG)
    assert replayed(capsys, path, *base) != replayed(capsys, path, *base, *option)


def test_without_guards(tmp_path: Path, capsys: Capsys) -> None:
    """With --no-guards the request leaves in its own tool loop; with guards the exchange does."""
    path = write(tmp_path / "chat.json", [user("a"), call("1"), result("1")])
    windows = []
    for options in ([], ["--no-guards"]):
        _, (row,), _ = replayed(capsys, path, "--max-messages", "2", "--show", *options)
        windows.append([entry["message"]["role"] for entry in row["entries"]])
    assert [["user"], ["assistant", "tool"]] == windows


def test_what_is_stored_is_not_replayed_again(tmp_path: Path, capsys: Capsys) -> None:
    """An id that is in the database already is refused with the remedy; nothing is doubled, and others go on."""
    url = f"sqlite:///{tmp_path}/chat.db"
    first, second = {"id": "a", "messages": [user("1")]}, {"id": "b", "messages": [user("2")]}
    options = ("--max-messages", "9", "--db", url)
    assert 0 == replayed(capsys, write(tmp_path / "one.jsonl", first), *options)[0]
    path = write(tmp_path / "two.jsonl", first, second, second)
    status, rows, problems = replayed(capsys, path, *options)
    refused = "is stored already; use another --db, or delete it there first"
    assert (1, ["b"]) == (status, [row["id"] for row in rows])
    assert [f"chatmemory: {path}:1: 'a' {refused}", f"chatmemory: {path}:3: 'b' {refused}"] == problems
    with SqlChatMemoryStore(url) as store:
        assert [("a", 1), ("b", 1)] == [(info.id, info.version) for info in store.conversations()]


@pytest.mark.parametrize("stored", [False, True])
def test_an_id_that_cannot_be_one(tmp_path: Path, capsys: Capsys, stored: bool) -> None:  # noqa: FBT001 - pytest gives it
    """A conversation whose id no database keeps is named with file and line, and the next one is replayed."""
    path = write(tmp_path / "c.jsonl", {"id": "x" * 256, "messages": [user("1")]}, [user("2")])
    options = ["--db", f"sqlite:///{tmp_path}/chat.db"] if stored else []
    status, rows, problems = replayed(capsys, path, "--max-messages", "9", *options)
    assert (1, ["c:2"]) == (status, [row["id"] for row in rows])
    assert [f"chatmemory: {path}:1: id has 256 characters; give 1 to 255"] == problems


def test_the_table(tmp_path: Path, capsys: Capsys) -> None:
    """People get a row a conversation with all of it; an id is no markup, and control characters are spelled out."""
    path = write(tmp_path / "c.jsonl", {"id": "[red]x\x1b[2J", "messages": [user("hello"), {"role": "robot"}]})
    assert 1 == main(["replay", path, "--max-messages", "9", "--show"])
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    cells = [cell.strip() for cell in lines[3].strip("│").split("│")]
    assert ["[red]x\\x1b[2J", "2", "1", "not counted", "0", "0", "1", "0"] == cells
    assert lines[5].startswith(f"{path}:1: messages[1].role is none of ")
    assert lines[6].startswith("[red]x\\x1b[2J: messages 1, tokens not counted, version 1")
    assert "" == printed.err


def test_several_files_and_the_sample(tmp_path: Path, capsys: Capsys) -> None:
    """Files are replayed in their order, the sample first; what cannot be read is told, and the status says so."""
    good, missing = write(tmp_path / "good.json", [user("1")]), str(tmp_path / "missing.json")
    status, rows, problems = replayed(capsys, missing, good, "--sample", "--max-messages", "3")
    assert (1, ["parcel", "good"], 1) == (status, [row["id"] for row in rows], len(problems))


def test_the_sample_is_read_as_a_file() -> None:
    """The sample needs no special form: it is a file as anybody's."""
    assert [Conversation] == [type(found) for found in read(str(SAMPLE))]
