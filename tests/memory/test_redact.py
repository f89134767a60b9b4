"""`redact`: what a message said is destroyed wherever it is shown; its place and the rules stay (R1, R3)."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory import (
    AssistantMessage,
    ChatMemory,
    ConflictError,
    InvalidArgumentError,
    Message,
    NotInHistoryError,
    StoreError,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    WindowOverflowError,
)
from chatmemory.messages import OpaquePart, ReasoningPart, TextPart
from chatmemory.stores import ChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api, Place
from tests.memory.watched_store import WatchedStore
from tests.oracle import check_window, unanswered_calls

CALLS = [ToolCall("c1", "look", '{"at":"oak"}', extra={"oak": 1}), ToolCall(None, "dig", "oak", type="custom")]


@pytest.fixture
def memory(api: Api, store: ChatMemoryStore) -> ChatMemory:
    """A memory that has evicted an exchange, and holds a system message, an exchange, and an orphan in its history."""
    memory = api.token_window("c", max_tokens=40, counter=SizeCounter(), store=store)
    memory.extend([SystemMessage("oak s:5"), UserMessage("oak u:9"), AssistantMessage("oak a:9")])
    memory.extend([UserMessage("oak v:9"), AssistantMessage("oak b:5", tool_calls=CALLS)])
    memory.extend([ToolMessage("oak r:5", tool_call_id="c1"), ToolMessage("oak q:1", tool_call_id="stray")])
    memory.add(UserMessage("oak w:60"))
    return memory


def texts(memory: ChatMemory, store: ChatMemoryStore) -> list[str]:
    """Everything that memory and store can still say of the conversation."""
    shown = [memory.window(), memory.history(), memory.refresh(), store.history("c")]
    for version in range(memory.version + 1):
        shown += [memory.window_at(version), store.window_at("c", version)]
    return [repr((entry.message.content, entry.message.extra)) for entries in shown for entry in entries] + [
        call.arguments + repr(call.extra) for entries in shown for entry in entries for call in entry.message.tool_calls
    ]


def test_nothing_is_left_anywhere(memory: ChatMemory, store: ChatMemoryStore) -> None:
    """Once every entry is redacted, in the window or long gone, no window, version or history says the word."""
    assert any("oak" in text for text in texts(memory, store))
    for entry in memory.history():
        assert memory.redact(entry.seq, f"gone:{entry.seq}")
    assert [] == [text for text in texts(memory, store) if "oak" in text]
    assert [f"gone:{seq}" for seq in range(1, 9)] == [entry.message.text for entry in memory.history()]


@pytest.mark.parametrize("seq", range(1, 9))
def test_an_entry_keeps_its_place(memory: ChatMemory, store: ChatMemoryStore, seq: int) -> None:
    """A version is made, the entry is marked with it and counted anew, and everything else is as it was."""
    before, window = memory.history(), [entry.seq for entry in memory.window()]
    change = memory.redact(seq, "gone:1")
    assert (True, memory.version, (), ()) == (bool(change), change.version, change.added, change.removed)
    after = memory.history()
    assert before[: seq - 1] + before[seq:] == after[: seq - 1] + after[seq:]
    old, new = before[seq - 1], after[seq - 1]
    assert ("gone:1", 1, change.version) == (new.message.text, new.tokens, new.redacted)
    assert (old.added_at, old.entered, old.left, old.reason) == (new.added_at, new.entered, new.left, new.reason)
    assert (old.kind, old.origin_seq, old.call_seq) == (new.kind, new.origin_seq, new.call_seq)
    assert window == [entry.seq for entry in memory.window()]
    assert 3 + sum(entry.tokens or 0 for entry in memory.window()) == memory.tokens == change.tokens
    assert after == store.history("c")


def test_links_stay(memory: ChatMemory) -> None:
    """R3: calls keep ids, names and types, results keep what they answer, and nothing else is left of them."""
    memory.redact(5, "gone:5")
    memory.redact(6, "gone:5")
    bare = [ToolCall("c1", "look", "{}"), ToolCall(None, "dig", "{}", type="custom")]
    assert AssistantMessage("gone:5", tool_calls=bare) == memory.history()[4].message
    assert ToolMessage("gone:5", tool_call_id="c1") == memory.history()[5].message
    assert [] == check_window(memory.messages())
    assert 1 == len(unanswered_calls(memory.messages()))
    memory.add(ToolMessage("late:1", tool_call_id=None))
    assert [1, 3, 4, 5, 6, 9] == [entry.seq for entry in memory.window()]


@pytest.mark.parametrize(
    ("message", "left"),
    [
        (UserMessage([TextPart("oak"), OpaquePart({"oak": 1})], name="oak", extra={"oak": 1}), UserMessage("gone:2")),
        (SystemMessage("oak", role="developer", name="oak"), SystemMessage("gone:2", role="developer")),
        (AssistantMessage([ReasoningPart("oak")], refusal="oak"), AssistantMessage("gone:2")),
        (
            ToolMessage("oak", tool_call_id=None, name="look", role="function"),
            ToolMessage("gone:2", tool_call_id=None, name="look", role="function"),
        ),
        (
            ToolMessage("oak", tool_call_id="stray", name="oak", is_error=True, extra={"oak": 1}),
            ToolMessage("gone:2", tool_call_id="stray"),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_left_of_a_message(api: Api, store: ChatMemoryStore, message: Message, left: Message) -> None:
    """Content, names, refusals, reasoning, provider's fields go; role and links stay."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.add(message)
    memory.redact(1, "gone:2")
    assert [left] == [entry.message for entry in memory.history()]


def test_a_longer_text_makes_room(api: Api, store: ChatMemoryStore) -> None:
    """R1: where the text is longer than what was there, the oldest leave as for a smaller limit."""
    memory = api.token_window("c", max_tokens=30, counter=SizeCounter(), store=store)
    memory.extend([UserMessage("u:9"), AssistantMessage("a:9"), UserMessage("v:9")])
    change = memory.redact(2, "gone:15")
    assert [(1, "budget")] == [(removal.seq, removal.reason) for removal in change.removed]
    assert [2, 3] == [entry.seq for entry in memory.window()]
    assert (27, change.version) == (memory.tokens, memory.history()[1].redacted)
    assert memory.history() == store.history("c")


def test_a_request_that_no_longer_fits(api: Api, store: ChatMemoryStore) -> None:
    """R6: a guarded message whose new text is over the limit leaves as oversize, redacted all the same."""
    memory = api.token_window("c", max_tokens=30, counter=SizeCounter(), store=store)
    memory.add(UserMessage("oak:9"))
    change = memory.redact(1, "gone:40")
    assert [(1, "oversize", 40)] == [(removal.seq, removal.reason, removal.tokens) for removal in change.removed]
    assert ([], "gone:40") == (memory.messages(), memory.history()[0].message.text)


@pytest.mark.parametrize(("message", "overflow"), [(UserMessage("u:9"), "raise"), (SystemMessage("s:9"), "evict")])
def test_a_text_that_does_not_fit(api: Api, store: ChatMemoryStore, message: Message, overflow: Any) -> None:
    """R6: with "raise", and for a system message, a text that does not fit is refused and nothing changed."""
    memory = api.token_window("c", max_tokens=30, counter=SizeCounter(), store=store, overflow=overflow)
    memory.add(message)
    before = memory.window(), memory.history()
    with pytest.raises(WindowOverflowError):
        memory.redact(1, "gone:40")
    assert before == (memory.window(), memory.history())
    assert memory.redact(1, "gone:20")


def test_over_budget_is_kept(api: Api, store: ChatMemoryStore) -> None:
    """With "keep" the longer text stays, and the window says that it is over budget."""
    memory = api.token_window("c", max_tokens=30, counter=SizeCounter(), store=store, overflow="keep")
    memory.add(UserMessage("u:9"))
    memory.redact(1, "gone:40")
    assert (True, 43) == (memory.over_budget, memory.tokens)


def test_the_same_again_changes_nothing(memory: ChatMemory, store: ChatMemoryStore) -> None:
    """What says the text already is left as it is: no version, no commit. Another text is another redaction."""
    memory.redact(2, "gone:1")
    version, before = memory.version, store.history("c")
    change = memory.redact(2, "gone:1")
    assert (False, version, before) == (bool(change), memory.version, store.history("c"))
    assert memory.redact(2, "other:1")
    assert version + 1 == memory.history()[1].redacted


@pytest.mark.parametrize("seq", [9, 10**30])
def test_an_entry_that_is_not_there(memory: ChatMemory, seq: int) -> None:
    """A seq that the conversation never had is an error, and nothing changed."""
    version = memory.version
    with pytest.raises(NotInHistoryError, match=str(seq)):
        memory.redact(seq)
    assert version == memory.refresh().version


@pytest.mark.parametrize("seq", [0, -1, True, 1.0, "1", None])
def test_other_seqs(memory: ChatMemory, seq: Any) -> None:
    """A seq is a positive int."""
    with pytest.raises(InvalidArgumentError, match="seq"):
        memory.redact(seq)


@pytest.mark.parametrize("text", [None, 7, ["oak"], b"oak", UserMessage("oak")], ids=repr)
@pytest.mark.parametrize("seq", [1, 2, 5, 6])
def test_other_texts(memory: ChatMemory, seq: int, text: Any) -> None:
    """A text is a str, whatever the message."""
    before = memory.history()
    with pytest.raises(InvalidArgumentError, match="text"):
        memory.redact(seq, text)
    assert before == memory.history()


def test_a_system_message_that_is_added_again(api: Api, store: ChatMemoryStore) -> None:
    """R2: after a redaction the original text is another one: it comes in anew, and the redacted one is replaced."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.add(SystemMessage("oak"))
    memory.redact(1)
    change = memory.add(SystemMessage("oak"))
    assert [(1, "replaced")] == [(removal.seq, removal.reason) for removal in change.removed]
    assert [(2, None)] == [(entry.seq, entry.redacted) for entry in memory.window()]


def test_beside_another_writer(api: Api, place: Place) -> None:
    """Planned on an old version it is planned again: what the other added, or evicted, is redacted in place."""
    one = api.message_window("c", max_messages=2, store=place.open())
    two = api.message_window("c", max_messages=2, store=place.open())
    one.extend([UserMessage("oak 1"), UserMessage("oak 2")])
    assert 2 == len(two.messages())
    one.add(UserMessage("oak 3"))
    assert two.redact(1)
    one.add(UserMessage("oak 4"))
    assert two.redact(4, "gone")
    history = two.history()
    assert ["[redacted]", "oak 2", "oak 3", "gone"] == [entry.message.text for entry in history]
    assert [(2, 3), (4, None), (None, None), (None, 5)] == [(entry.left, entry.redacted) for entry in history]
    assert ["oak 3", "oak 4"] == [message.text for message in one.messages()]
    assert ["oak 3", "gone"] == [entry.message.text for entry in one.refresh()]


def test_an_older_text_is_not_brought_back(api: Api, place: Place) -> None:
    """Who did not see the redaction may go on adding: nothing that it writes holds what was redacted."""
    one = api.message_window("c", max_messages=2, store=place.open())
    two = api.message_window("c", max_messages=2, store=place.open())
    one.extend([UserMessage("oak 1"), UserMessage("oak 2")])
    assert ["oak 1", "oak 2"] == [message.text for message in two.messages()]
    one.redact(1)
    two.add(UserMessage("next"))
    assert ["[redacted]", "oak 2", "next"] == [entry.message.text for entry in two.history()]


def test_conflicts_without_end(api: Api, place: Place) -> None:
    """Where others commit first again and again, it ends as a conflict, and nothing is redacted."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = api.message_window("c", max_messages=9, store=watched)
    memory.add(UserMessage("oak"))
    watched.failing["commit"] = ConflictError("another writer was first")
    with pytest.raises(ConflictError):
        memory.redact(1)
    watched.failing.clear()
    assert ["oak"] == [message.text for message in memory.messages()]


@pytest.mark.parametrize("is_stored", [True, False])
def test_an_unknown_outcome(api: Api, place: Place, *, is_stored: bool) -> None:
    """After an unknown outcome the memory shows what the store has, and the same redaction again is safe."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = api.message_window("c", max_messages=9, store=watched)
    memory.add(UserMessage("oak"))
    where = watched.failing_after if is_stored else watched.failing
    where["commit"] = StoreError("connection lost", outcome_unknown=True)
    with pytest.raises(StoreError) as caught:
        memory.redact(1)
    assert caught.value.outcome_unknown
    where.clear()
    assert ["[redacted]" if is_stored else "oak"] == [message.text for message in memory.messages()]
    assert is_stored is not bool(memory.redact(1))
    assert ("[redacted]", 2) == (memory.history()[0].message.text, memory.version)


def test_nothing_is_logged(memory: ChatMemory, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the old text nor the new one is in a log or in what a change shows of itself."""
    with caplog.at_level("DEBUG"):
        change = memory.redact(2, "acorn:40")
    assert not [word for word in ("oak", "acorn") if word in caplog.text + repr(change)]
