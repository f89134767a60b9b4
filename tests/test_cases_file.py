"""The collection of cases itself: `CHATMEMORY_TEST_DATA` names a folder, and `cases.json` lies beside it.

Each case is played as it stands there, and every fact that it expects of the window is checked. DESIGN.md decides none
of these facts otherwise; what is no matter of one window is listed here, with the place where it is tested instead.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from attrs import define, frozen

from chatmemory import (
    Change,
    ChatMemory,
    ChatMemoryError,
    Message,
    SlidingWindow,
    TiktokenCounter,
    TokenBudget,
    TokenCounter,
    to_openai,
)
from chatmemory.formats import check
from chatmemory.stores import SqlChatMemoryStore
from tests import test_cases, test_cases_stored
from tests.oracle import check_window
from tests.public_cases import CASES, LATER

Case = dict[str, Any]
DATA: Final = os.environ.get("CHATMEMORY_TEST_DATA")
FILE: Final = Path(DATA or "").resolve().parent / "cases.json"
COLLECTION: Final[list[Case]] = json.loads(FILE.read_text(encoding="utf-8")) if DATA and FILE.exists() else []
NO_WINDOW: Final = {
    "B104": "threads: test_cases_stored.test_b104",
    "B106": "threads: tests/memory/test_writers.py, test_threads_on_one_memory",
    "B107": "processes: tests/memory/test_writers.py, test_processes_on_one_file",
    "B124": "many adds in a moment: test_cases_stored.test_no_clock_orders_anything",
    "B127": "what is read: test_cases_stored.test_b127",
    "B128": "what is written: test_cases_stored.test_b128",
    "B130": "what was given is changed: test_cases_stored.test_b130",
}
PLAYED: Final = [case for case in COLLECTION if case["id"] not in NO_WINDOW.keys() | LATER]

pytestmark = pytest.mark.skipif(not COLLECTION, reason="no cases.json beside the folder in CHATMEMORY_TEST_DATA")


@frozen
class WordCounter:
    """Counts words of text, call names and arguments, and what each message costs besides."""

    each: int = 0
    name: str = "words"
    overhead: int = 0

    def count(self, message: Message) -> int:
        """Return the number of words."""
        texts = [message.text, *(f"{call.name} {call.arguments}" for call in message.tool_calls)]
        return self.each + sum(len(text.split()) for text in texts)


@define
class Played:
    """A conversation after a case was played: a memory that has just opened it, and what was seen on the way.

    Attributes:
        memory: The memory.
        given: The case's input.
        changes: The Change of each message.
    """

    memory: ChatMemory
    given: list[Any]
    changes: list[Change]

    @property
    def window(self) -> list[int]:
        """The indexes in the input of the entries in the window."""
        index = {change.seq: at for at, change in enumerate(self.changes)}
        return [index[entry.seq] for entry in self.memory.window()]


def play(case: Case, store: SqlChatMemoryStore) -> Played:
    """Add the input one by one, opening the conversation anew before each message where the case says so."""
    settings = case["settings"]
    memory, changes = memory_for(settings, store), []
    for given in case["input"]:
        if settings.get("op") == "reload_each":
            memory = memory_for(settings, store)
        changes.append(memory.add(message_of(given, settings)))
    if settings.get("op") == "clear_then_reload":
        memory.clear()
    return Played(memory_for(settings, store), case["input"], changes)


def memory_for(settings: Case, store: SqlChatMemoryStore) -> ChatMemory:
    """A memory with the settings of a case; where it names no limit, one that holds everything."""
    unit: Any = "turn" if settings.get("start_on_user") else "message"
    limit = settings.get("max_messages") or settings.get("limit") or 50
    tokens: int | None = settings.get("max_tokens")
    return ChatMemory(
        "c",
        strategy=TokenBudget(tokens, unit=unit) if tokens else SlidingWindow(limit, unit=unit),
        store=store,
        counter=counter_for(settings),
        overflow=settings.get("overflow", "evict"),
        reserve_tokens=settings.get("reserved_tokens", 0),
    )


def counter_for(settings: Case) -> TokenCounter | None:
    """The counter that a case names, or None."""
    match settings.get("counter"):
        case "words" | "strict_order":
            return WordCounter(settings.get("per_message_overhead", 0))
        case "default" | "tiktoken":
            return TiktokenCounter()
    return None


def message_of(given: Any, settings: Case) -> Any:
    """A message of the input, with the Python values that JSON cannot hold."""
    made = value_of(given)
    return SimpleNamespace(**made) if settings.get("input_type") == "objects" else made


def value_of(given: Any) -> Any:
    """A value of the input: dates, ids and repeated text are written as objects there."""
    match given:
        case {"$py": "datetime", "value": value}:
            return datetime.fromisoformat(value)
        case {"$py": "uuid", "value": value}:
            return uuid.UUID(value)
        case {"$repeat": [text, times]}:
            return text * times
        case dict():
            return {key: value_of(value) for key, value in given.items()}
        case list():
            return [value_of(value) for value in given]
    return given


def clock_of(settings: Case) -> dict[str, Any]:
    """The argument for a store's clock, where the case has a clock."""
    ticks = settings.get("clock")
    if ticks is None:
        return {}
    left = list(ticks)
    return {"clock": lambda: datetime.fromtimestamp(left.pop(0) if len(left) > 1 else left[0], UTC)}


FACTS: Final[dict[str, Callable[[Played, Any], bool]]] = {
    "keep": lambda played, kept: set(kept) <= set(played.window),
    "drop": lambda played, gone: set(gone).isdisjoint(played.window),
    "final_any_of": lambda played, windows: played.window in windows,
    "pairs_ok": lambda played, _: is_valid(played.memory),
    "adjacent": lambda played, _: is_valid(played.memory),
    "system_index": lambda played, at: at == played.window[0] and played.memory.system is not None,
    "first_role": lambda played, role: role == played.memory.messages()[0].role,
    "keep_or_raise": lambda played, kept: set(kept) <= set(played.window),
    "non_empty": lambda played, _: bool(played.window),
    "non_empty_besides_system": lambda played, _: len(played.window) > (played.memory.system is not None),
    "unchanged": lambda played, _: is_as_given(played),
    "roundtrip": lambda played, _: is_as_given(played) and len(played.window) == len(played.given),
    "reports_evicted": lambda played, _: any(change.removed for change in played.changes),
    "count": lambda played, number: number == len(played.memory.history()),
    "token_min": lambda played, least: all(tokens_of(played, at) >= least[at] for at in least),
    "token_max": lambda played, most: all(tokens_of(played, at) <= most[at] for at in most),
}
REFUSED: Final = {
    "B056": "a reserve above the limit",
    "B067": "a limit of -1",
    "B070": "objects that are no messages",
    "B098": "values that are no JSON",
}
"""What is an error here; the case allows one."""
SAID: Final = {"say", "naive_slice_fails", "no_exception", "raises_ok", "over_budget_ok"}
ELSEWHERE: Final = {
    "max_seconds": "test_cases.test_oversize ends",
    "counter_sees_valid_lists": "test_cases.test_b062",
    "well_formed": "test_cases_stored.test_b088",
    "no_partial_state": "test_cases_stored.test_b098",
}
"""Facts of cases that a look at the window in the end does not show."""


def is_valid(memory: ChatMemory) -> bool:
    """Whether no result stands alone, and what would be sent has a result for each call."""
    window = memory.window()
    return check_window(window.messages()) == [] == check(to_openai(window))


def is_as_given(played: Played) -> bool:
    """Whether each message of the window is as it was given."""
    return [value_of(played.given[at]) for at in played.window] == to_openai(played.memory.window())


def tokens_of(played: Played, at: str) -> int:
    """What a message of the window was counted as."""
    return played.memory.window()[played.window.index(int(at))].tokens or 0


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case["id"])
def test_a_case_as_it_stands(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fact holds after a restart; an error is one of the library's, and only where the case allows one."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    expect = case["expect"]
    with SqlChatMemoryStore(f"sqlite:///{tmp_path}/chat.db", **clock_of(case["settings"])) as store:
        try:
            played = play(case, store)
        except ChatMemoryError:
            assert expect["raises_ok"]
            assert case["id"] in REFUSED
            return
        assert case["id"] not in REFUSED
        for fact, value in expect.items():
            if fact not in SAID | ELSEWHERE.keys():
                assert FACTS[fact](played, value), (fact, value, played.window)


def test_every_case_has_a_test_of_ours() -> None:
    """Each case of the collection is among our own, or waits for its issue."""
    tests = {name[5:].partition("_")[0].upper() for name in vars(test_cases) | vars(test_cases_stored) if "_b" in name}
    written = {case.name.split()[0] for case in CASES} | test_cases_stored.IDENTICAL.keys()
    clocks = {name.split()[0] for name in test_cases_stored.CLOCKS}
    assert {case["id"] for case in COLLECTION} <= tests | written | clocks | NO_WINDOW.keys() | LATER
