"""Faults that other projects reported, as far as they are about windows: none of them is possible here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatmemory import (
    ApproximateCounter,
    AssistantMessage,
    ChatMemory,
    InvalidArgumentError,
    InvalidMessageError,
    Message,
    MessageWindowChatMemory,
    SlidingWindow,
    TiktokenCounter,
    TokenCounter,
    TokenWindowChatMemory,
    ToolCall,
    ToolMessage,
    UserMessage,
    WindowOverflowError,
    select_messages,
    to_openai,
)
from chatmemory.formats import check, from_openai
from chatmemory.stores import ChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore
from tests.conversations import SizeCounter
from tests.oracle import check_window
from tests.public_cases import (
    COUNTING,
    EMPTY,
    FIRST_ROLE,
    IDS,
    INTERLEAVED,
    OVERSIZE,
    PARALLEL,
    SYSTEM,
    TOOL_PAIRING,
    UNANSWERED,
    PublicCase,
    label_of,
    messages_of,
)
from tests.real_memory import guards_of, open_memory, strategy_of


def named(cases: tuple[PublicCase, ...]) -> pytest.MarkDecorator:
    """Parametrise a test by cases."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def check_case(case: PublicCase, store: ChatMemoryStore) -> None:
    """The window is the right one after adds with a restart before each, and by selection, and can be sent."""
    oversize = False
    for message in messages_of(case.adds):
        oversize |= open_memory("c", case.settings, store=store).add(message).oversize
        check_sendable(open_memory("c", case.settings, store=store), overflow=case.settings.overflow)
    memory = open_memory("c", case.settings, store=store)
    assert case.window.split() == [label_of(message) for message in memory.messages()]
    assert case.oversize is oversize
    assert_selection(case, memory)


def check_sendable(memory: ChatMemory, *, overflow: str) -> None:
    """What would go to the model is valid at every moment, and within the limit unless it was to be kept."""
    window = memory.window()
    assert [] == check_window(window.messages())
    assert {"empty_list"} >= {finding.code for finding in check(to_openai(window))}
    assert overflow == "keep" or not window.over_budget


def assert_selection(case: PublicCase, memory: ChatMemory) -> None:
    """`select_messages` gives the same."""
    selection = select_messages(
        messages_of(case.adds),
        strategy_of(case.settings),
        counter=SizeCounter(),
        guards=guards_of(case.settings),
        overflow=case.settings.overflow,
    )
    assert memory.messages() == selection.messages


@named(TOOL_PAIRING)
def test_tool_pairing(case: PublicCase) -> None:
    """R3: never a result without its call, never a cut inside a pair, and never an empty window for it."""
    check_case(case, InMemoryChatMemoryStore())


@named(PARALLEL)
def test_parallel_calls(case: PublicCase) -> None:
    """R3: a message with several calls and all its results are one unit."""
    check_case(case, InMemoryChatMemoryStore())


@named(UNANSWERED)
def test_unanswered_calls(case: PublicCase, tmp_path: Path) -> None:
    """R13: a call without result stays as it is, the conversation goes on, and what is sent has a result for it."""
    with SqlChatMemoryStore(f"sqlite:///{tmp_path}/chat.db") as store:
        check_case(case, store)


@named(INTERLEAVED)
def test_interleaved(case: PublicCase) -> None:
    """R3: whatever comes between a call and its result, the result stands at its call."""
    check_case(case, InMemoryChatMemoryStore())


@named(SYSTEM)
def test_system_message(case: PublicCase) -> None:
    """R2: at most one system message, always first, the newest text, and never gone for the budget."""
    check_case(case, InMemoryChatMemoryStore())


@named(FIRST_ROLE)
def test_first_role(case: PublicCase) -> None:
    """R8: with whole turns the window opens with a user message."""
    check_case(case, InMemoryChatMemoryStore())


@named(OVERSIZE)
def test_oversize(case: PublicCase) -> None:
    """R6: what does not fit leaves whole and alone, and the Change says so; with "keep" it stays, over budget."""
    check_case(case, InMemoryChatMemoryStore())


@named((*COUNTING, *EMPTY, *IDS))
def test_other_windows(case: PublicCase, tmp_path: Path) -> None:
    """R1, R3: limits hold over restarts; calls without text are messages; ids link to the nearest call that waits.

    B094: the result that names the tool is an orphan. To take the name for an id would break R3, by which calls and
    results are linked by id and never by a tool's name.
    """
    with SqlChatMemoryStore(f"sqlite:///{tmp_path}/chat.db") as store:
        check_case(case, store)


def test_b052_raise() -> None:
    """Where nothing fits, "raise" says what is needed, and the memory is as before."""
    memory = TokenWindowChatMemory(max_tokens=8, counter=SizeCounter(), overflow="raise")
    with pytest.raises(WindowOverflowError) as caught:
        memory.extend(messages_of("S:1 U:30"))
    assert (34, 8) == (caught.value.needed, caught.value.allowed)
    assert [] == memory.messages()


def test_b056() -> None:
    """A reserve above the limit is an error of the constructor, not of a later chat."""
    with pytest.raises(InvalidArgumentError) as caught:
        TokenWindowChatMemory(max_tokens=10, reserve_tokens=15)
    assert "reserve_tokens" == caught.value.field


@pytest.fixture
def real_counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenCounter:
    """The default counter, its data out of the `offline` extra."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return TiktokenCounter()


@pytest.fixture(params=["real", "approximate"])
def counter(request: pytest.FixtureRequest, real_counter: TokenCounter) -> TokenCounter:
    """Every counter of the library."""
    return real_counter if request.param == "real" else ApproximateCounter()


def planning(number: int, words: int) -> list[Message]:
    """A call whose arguments are long, and a short result."""
    arguments = '{"text": "' + " ".join(f"word{at}" for at in range(words)) + '"}'
    call = ToolCall(f"k{number}", "plan", arguments)
    return [AssistantMessage(None, tool_calls=[call]), ToolMessage("ok", tool_call_id=f"k{number}")]


def test_b061(counter: TokenCounter) -> None:
    """Names and arguments of calls cost tokens, so that early exchanges leave where they are long."""
    assert counter.count(planning(0, 0)[0]) + 40 <= counter.count(planning(0, 40)[0])
    memory = TokenWindowChatMemory(max_tokens=200, counter=counter)
    memory.add(UserMessage("start"))
    for number in range(4):
        memory.extend(planning(number, 40))
    memory.add(UserMessage("next"))
    history = memory.history()
    assert ["budget", "budget"] == [entry.reason for entry in history[1:3]]
    assert UserMessage("next") == memory.messages()[-1]
    assert (memory.tokens or 0) <= 200


def test_b062() -> None:
    """A counter is given one message at a time, in the order of adding, so that no list can be out of order."""
    seen: list[Message] = []

    class Strict(SizeCounter):
        def count(self, message: Message) -> int:
            seen.append(message)
            return super().count(message)

    given = messages_of("U1 C(a,b) R1(a) R2(b) A U2")
    TokenWindowChatMemory(max_tokens=8, counter=Strict()).extend(given)
    assert [id(message) for message in given] == [id(message) for message in seen]


def test_b064(counter: TokenCounter) -> None:
    """Text that looks like a special token is counted as text."""
    assert counter.count(UserMessage("say <|endoftext|>")) > counter.count(UserMessage("say end of text"))


@pytest.mark.parametrize("limit", [-1, 0])
def test_b067(limit: int) -> None:
    """A limit below 1 is refused, and never means everything."""
    memory = MessageWindowChatMemory(max_messages=5)
    memory.extend(messages_of("U1 A1 U2"))
    with pytest.raises(InvalidArgumentError):
        memory.history(limit=limit)


def test_b070() -> None:
    """An object that is no message is refused, never passed through unseen."""

    class Own:
        role, content = "user", "1"

    given: list[Any] = [{"role": "user", "content": "1"}, Own()]
    with pytest.raises(InvalidMessageError) as caught:
        select_messages(given, SlidingWindow(1))
    assert caught.value.path.startswith("messages[1]")


PICTURE = "data:image/png;base64," + "A" * 40_000


def picture(url: str) -> Message:
    """A question about a picture."""
    parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    return from_openai([{"role": "user", "content": parts}])[0]


def test_b071(counter: TokenCounter) -> None:
    """The base64 of a picture is no text: the picture has a price, and nothing is evicted for it."""
    memory = TokenWindowChatMemory(max_tokens=320, counter=counter)
    memory.extend([UserMessage("hello"), AssistantMessage("hi"), picture(PICTURE), AssistantMessage("a cat")])
    assert 4 == len(memory.messages())


def test_b073(counter: TokenCounter) -> None:
    """A picture is not free."""
    assert 85 <= counter.count(picture("https://example.org/a.png")) - counter.count(UserMessage("what is this?"))


def test_b074(counter: TokenCounter) -> None:
    """Sound is not free, and not counted as base64 text."""
    sound = {"type": "input_audio", "input_audio": {"data": "A" * 8_000, "format": "wav"}}
    (message,) = from_openai([{"role": "user", "content": [sound]}])
    assert counter.count(UserMessage("")) < counter.count(message) < 2_000


def test_b076(counter: TokenCounter) -> None:
    """A part that nobody knows is counted without an error, costs something, and comes back as it was."""
    parts = [{"type": "video_url", "video_url": {"url": "https://example.org/v"}}, {"type": "own_thing", "x": 1}]
    wire = [{"role": "user", "content": parts}, {"role": "assistant", "content": "ok"}]
    memory = TokenWindowChatMemory(max_tokens=5_000, counter=counter)
    memory.extend(wire)
    assert wire == to_openai(memory.window())
    assert counter.count(UserMessage("")) < counter.count(memory.messages()[0])
