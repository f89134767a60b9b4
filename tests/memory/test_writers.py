"""Several writers of one conversation: threads on one object, objects of one id, processes on one file."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from chatmemory import (
    AssistantMessage,
    Change,
    ChatMemory,
    Entry,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from chatmemory.core.entries import Stamp
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api
from tests.memory.programs import add_many
from tests.memory.watched_store import WatchedStore
from tests.oracle import check_window

WORKERS, EACH = 16, 10


def at_once(works: Sequence[Callable[[], None]]) -> None:
    """Run every work in a thread of its own, all started together; an error of any of them comes out."""
    start = Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        start.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(run, works))


def adding(memory: ChatMemory, name: str, each: int = EACH) -> Callable[[], None]:
    """A worker that adds its numbers in order."""

    def work() -> None:
        for number in range(each):
            memory.add(UserMessage(f"{name} {number}"))

    return work


def check_all_there(history: list[Entry], names: Sequence[str], each: int) -> None:
    """Nothing is lost or doubled, every seq and version is there once, and each worker's order is kept."""
    assert list(range(1, len(names) * each + 1)) == [entry.seq for entry in history]
    assert list(range(1, len(names) * each + 1)) == [entry.entered for entry in history]
    for name in names:
        own = [entry.message.text for entry in history if entry.message.text.split()[0] == name]
        assert [f"{name} {number}" for number in range(each)] == own


def extending(memory: ChatMemory, name: str, each: int) -> Callable[[], None]:
    """A worker that adds whole exchanges."""

    def work() -> None:
        for number in range(each):
            memory.extend(exchange(f"{name}{number}"))

    return work


NAMES = [f"w{number}" for number in range(WORKERS)]


def test_threads_on_one_memory(api: Api, store: ChatMemoryStore) -> None:
    """Sixteen threads that share one memory lose nothing, and no commit meets another one."""
    watched = WatchedStore(store)
    memory = api.message_window("c", max_messages=5, store=watched)
    at_once([adding(memory, name) for name in NAMES])
    check_all_there(memory.history(), NAMES, EACH)
    assert 1 + WORKERS * EACH + 1 == len(watched.calls)
    assert 5 == len(memory.window())


def test_threads_with_a_memory_each(api: Api, store: ChatMemoryStore) -> None:
    """Sixteen memories of one id in sixteen threads lose nothing, and all see one order in the end."""
    memories = [api.message_window("c", max_messages=5, store=store) for _ in NAMES]
    at_once([adding(memory, name) for memory, name in zip(memories, NAMES, strict=True)])
    check_all_there(memories[0].history(), NAMES, EACH)
    newest = [[entry.seq for entry in memory.refresh()] for memory in memories]
    assert [[156, 157, 158, 159, 160]] * WORKERS == newest


def test_threads_on_conversations_of_their_own(api: Api, store: ChatMemoryStore) -> None:
    """Writers of different conversations in one store do not touch each other."""
    memories = [api.message_window(name, max_messages=5, store=store) for name in NAMES[:4]]
    at_once([adding(memory, memory.id) for memory in memories])
    for memory in memories:
        check_all_there(memory.history(), [memory.id], EACH)


def test_processes_on_one_file(api: Api, tmp_path: Path) -> None:
    """Four processes on one SQLite file and one conversation lose nothing, and `add` raises no error in any of them."""
    spawn, url, names = multiprocessing.get_context("spawn"), f"sqlite:///{tmp_path}/chat.db", ["p0", "p1", "p2", "p3"]
    start = spawn.Barrier(len(names))
    running = [spawn.Process(target=add_many, args=(url, "c", name, 25, start)) for name in names]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [0] * len(names) == [process.exitcode for process in running]
    with SqlChatMemoryStore(url) as store:
        memory = api.message_window("c", max_messages=5, store=store)
        check_all_there(memory.history(), names, 25)
        assert 100 == memory.version
        assert [96, 97, 98, 99, 100] == [entry.seq for entry in memory.window()]


def exchange(name: str) -> list[Message]:
    """A request, two calls at once, their results, and the answer."""
    calls = [ToolCall(f"{name}/{number}", "f") for number in range(2)]
    results = [ToolMessage(f"{name} r", tool_call_id=call.id) for call in calls]
    return [
        UserMessage(f"{name} u"),
        AssistantMessage(f"{name} c", tool_calls=calls),
        *results,
        AssistantMessage(f"{name} a"),
    ]


def test_an_extend_stays_together(api: Api, store: ChatMemoryStore) -> None:
    """Whole exchanges that several writers add at once follow each other and never mix, in any window there was."""
    memories = [api.message_window("c", max_messages=12, store=store) for _ in range(2)]

    at_once([extending(memories[number % 2], f"w{number}-", 5) for number in range(8)])
    history = memories[0].history()
    assert 8 * 5 * 5 == len(history)
    for at in range(0, len(history), 5):
        assert 1 == len({entry.message.text.split()[0] for entry in history[at : at + 5]})
    for version in range(memories[0].refresh().version + 1):
        assert [] == check_window(memories[0].window_at(version).messages())


def test_a_limit_holds_for_each_writer(api: Api, store: ChatMemoryStore) -> None:
    """Each writer cuts to its own limit, what the other added included."""
    wide = api.token_window("c", max_tokens=50, counter=SizeCounter(), store=store)
    narrow = api.token_window("c", max_tokens=25, counter=SizeCounter(), store=store)
    wide.extend([SystemMessage("s:10"), UserMessage("u:10"), AssistantMessage("a:10")])
    narrow.add(UserMessage("v:10"))
    assert ["s:10", "v:10"] == [message.text for message in narrow.messages()]
    wide.add(AssistantMessage("b:10"))
    assert ["s:10", "v:10", "b:10"] == [message.text for message in wide.messages()]


def test_operations_of_one_memory_do_not_overlap(api: Api) -> None:
    """One lock a memory: while an operation is in the counter, another waits for it, and sees what it did."""
    entered, go_on = Barrier(2, timeout=10), Barrier(2, timeout=10)

    class SlowOnce(SizeCounter):
        def count(self, message: Message) -> int:
            if message.text == "slow:1":
                entered.wait()
                go_on.wait()
            return super().count(message)

    memory = api.token_window(max_tokens=50, counter=SlowOnce())
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(memory.add, UserMessage("slow:1"))
        entered.wait()
        quick = pool.submit(memory.add, UserMessage("quick:1"))
        looking = pool.submit(memory.messages)
        assert not quick.done()
        go_on.wait()
        assert (1, 2) == (slow.result().seq, quick.result().seq)
        assert "slow:1" == looking.result()[0].text


def test_a_window_that_grows_while_it_is_opened(api: Api, store: ChatMemoryStore) -> None:
    """An add that opens cuts twice where another writer, with a larger limit, adds between the cut and the add."""
    wide = api.message_window("c", max_messages=9, store=store)
    wide.extend(UserMessage(str(number)) for number in range(4))

    class Meddled(WatchedStore):
        def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
            if self.calls.count("commit") == 1:
                wide.extend(UserMessage(str(number)) for number in range(4, 8))
            return super().commit(conversation_id, change, expected)

    narrow = api.message_window("c", max_messages=2, store=Meddled(store, conflict_timeout_seconds=1))
    change = narrow.add(UserMessage("last"))
    assert 9 == change.seq
    assert ["7", "last"] == [message.text for message in narrow.messages()]
    assert ["7", "last"] == [message.text for message in wide.refresh().messages()]
    assert [8, 9] == [entry.seq for entry in store.window_at("c", narrow.version)]
