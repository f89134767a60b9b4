"""The sweep finds what it looks for: a clean run has no fault, and each fault that is planted in a memory is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve, frozen

from chatmemory import ChatMemory, Entry, Guards, Message, SlidingWindow, TokenCounter
from chatmemory.cli.reading import SAMPLE
from chatmemory.formats import from_openai
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore
from tests.sweep import DONE, FAULTS, SETTINGS, Bench, FileResult, Remembering, Setting, main

LIMIT = 5


def memory(conversation_id: str, store: ChatMemoryStore) -> ChatMemory:
    """Return a memory without a fault."""
    return ChatMemory(conversation_id, strategy=SlidingWindow(LIMIT), store=store)


class SplitsPairs(ChatMemory):
    """Shows results without their calls."""

    def messages(self) -> list[Message]:
        """Return the window's messages but those with calls."""
        return [message for message in super().messages() if not message.tool_calls]


class Forgets(ChatMemory):
    """Loses the oldest entry of the history."""

    def history(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return all but the first."""
        return super().history(after=after, limit=limit)[1:]


class GivesNoReason(ChatMemory):
    """Does not say why entries left."""

    def history(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return entries without the reason for which they left."""
        return [evolve(entry, reason=None) for entry in super().history(after=after, limit=limit)]


def keeps_too_much(conversation_id: str, store: ChatMemoryStore) -> ChatMemory:
    """Return a memory whose limit is one too high."""
    return ChatMemory(conversation_id, strategy=SlidingWindow(LIMIT + 1), store=store)


def has_no_guards_in_sql(conversation_id: str, store: ChatMemoryStore) -> ChatMemory:
    """Return a memory that goes by other rules when it is stored."""
    guards = Guards.none() if isinstance(store, SqlChatMemoryStore) else Guards()
    return ChatMemory(conversation_id, strategy=SlidingWindow(LIMIT), store=store, guards=guards)


def cuts_when_opened(conversation_id: str, store: ChatMemoryStore) -> ChatMemory:
    """Return a memory that, when it opens what is stored, has a smaller limit."""
    limit = LIMIT - 2 if store.load(conversation_id) else LIMIT
    return ChatMemory(conversation_id, strategy=SlidingWindow(limit), store=store)


def of_class(kind: type[ChatMemory]) -> Callable[[str, ChatMemoryStore], ChatMemory]:
    """Return what opens memories of a class."""
    return lambda conversation_id, store: kind(conversation_id, strategy=SlidingWindow(LIMIT), store=store)


@frozen
class Planted(Setting):
    """A limit under which a faulty memory is opened."""

    opens: Callable[[str, ChatMemoryStore], ChatMemory]

    def memory(self, conversation_id: str, store: ChatMemoryStore, counter: TokenCounter) -> ChatMemory:  # noqa: ARG002
        """Open it; messages are limited, so nothing is counted."""
        return self.opens(conversation_id, store)


@pytest.mark.parametrize(
    ("opens", "faults"),
    [
        (memory, set()),
        (of_class(SplitsPairs), {"invalid"}),
        (of_class(Forgets), {"wrong history"}),
        (of_class(GivesNoReason), {"wrong history"}),
        (keeps_too_much, {"over the limit"}),
        (has_no_guards_in_sql, {"stores differ"}),
        (cuts_when_opened, {"reopened otherwise", "stores differ"}),
    ],
)
def test_planted_faults(tmp_path: Path, opens: Callable[[str, ChatMemoryStore], ChatMemory], faults: set[str]) -> None:
    """Each fault is counted under its own name, and a memory without one has none."""
    given = list(enumerate(from_openai(json.loads(SAMPLE.read_text("utf-8"))["messages"])))
    result = FileResult("sample")
    with SqlChatMemoryStore(f"sqlite:///{tmp_path}/sweep.db") as stored:
        Bench(result, "sample:1", given, Remembering()).run_both(Planted("messages", LIMIT, opens), stored)
    assert faults == {name for name in FAULTS if result.counts[name]}
    assert sum(result.counts[name] for name in FAULTS) == len(result.facts)


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of conversations gives a row a file and the total, and the messages that were left out, with reasons."""
    sample = json.dumps(json.loads(SAMPLE.read_text("utf-8")))
    odd = json.dumps([{"role": "system", "content": "word " * 200}, {"role": "robot"}])
    (tmp_path / "a.jsonl").write_text(f"{sample}\n{odd}\n")
    (tmp_path / "b.jsonl").write_text(f"{sample}\n")
    assert 0 == main([str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    rows = {cells[1].strip(): [int(cell) for cell in cells[2:-1]] for cells in (line.split("|") for line in lines[2:5])}
    runs = 2 * len(SETTINGS)
    assert [2, 31, 2 * runs, 29 * runs + runs - 2] == rows["a.jsonl"][: len(DONE) - 1]
    assert [3, 60, 3 * runs, 58 * runs + runs - 2] == rows["total"][: len(DONE) - 1]
    assert [0] * len(FAULTS) == rows["total"][len(DONE) : len(DONE) + len(FAULTS)]
    assert any(line.startswith("- a.jsonl:2: messages[1].role is none of ") for line in lines)
    assert any(line.startswith("- a.jsonl:2 messages[0]: needs ") and line.endswith("at 100 tokens") for line in lines)


def test_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without conversations, and a line that cannot be read, are no success; JSON says the same."""
    assert 1 == main([str(tmp_path)])
    capsys.readouterr()
    (tmp_path / "a.jsonl").write_text("[]\n[\n")
    assert 1 == main([str(tmp_path), "--json"])
    (of_file, total) = json.loads(capsys.readouterr().out)
    assert [("a.jsonl", 1), ("total", 1)] == [(one["name"], one["counts"]["unreadable"]) for one in (of_file, total)]
