"""The drills: many writers, writers that are killed, a server that is killed under load.

Decides: what happens in each, and what must be true afterwards; each returns its figures. Tests run them in a short
form, `python -m tests.endurance` in a long one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

from chatmemory import UserMessage
from chatmemory.stores import SqlChatMemoryStore
from tests.endurance.checking import check_acknowledged, check_conversation, whole_history
from tests.endurance.writing import Writer, WriterProcess, WriterThread, processes, run_all
from tests.servers.process import Server
from tests.stores.programs import add_through_memory, memory_of

Figures = dict[str, int | float]
_ID = "c"


def many_writers(url: str, *, writers: int, each: int, every: int = 1) -> Figures:
    """Let `writers` processes add `each` messages to one conversation at once."""
    names = [f"w{number}" for number in range(writers)]
    start = processes().Barrier(writers + 1)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run_all, [(add_through_memory, (url, _ID, name, each, start)) for name in names])
        start.wait()
        began = time.monotonic()
        done.result()
        seconds = time.monotonic() - began
    with SqlChatMemoryStore(url) as store:
        history = check_conversation(store, _ID, every=every)
    assert writers * each == len(history)
    for name in names:
        own = [entry.message.text for entry in history if entry.message.text.split()[0] == name]
        assert [f"{name} {number}" for number in range(each)] == own
    return {
        "writers": writers,
        "adds": len(history),
        "seconds": round(seconds, 1),
        "adds per second": round(len(history) / seconds),
    }


def kill_writers(url: str, *, times: int, seed: int = 1) -> Figures:
    """Kill a writer `times` times, at any moment, while another one goes on; a new one takes its place."""
    randomness = Random(seed)  # noqa: S311 - which moment it is guards nothing
    writers = [WriterProcess.start(url, _ID, "p0")]
    running = deque(writers)
    for number in range(1, times + 1):
        writers.append(WriterProcess.start(url, _ID, f"p{number}"))
        running.append(writers[-1])
        victim = running.popleft()
        victim.wait_for(randomness.randint(0, 12))
        victim.linger(randomness.uniform(0, 0.02))
        victim.kill()
    running.pop().stop()
    with SqlChatMemoryStore(url) as store:
        history = check_conversation(store, _ID)
        memory_of(_ID, store).add(UserMessage("after all"))
        assert len(history) + 1 == len(whole_history(store, _ID))
    unanswered = check_acknowledged(history, writers, unanswered=1)
    return {
        "kills": times,
        "acknowledged": len(history) - unanswered,
        "lost": 0,
        "there without an answer": unanswered,
    }


def kill_server(server: Server, url: str, *, times: int, seed: int = 1) -> Figures:
    """Kill the server `times` times under the load of two processes and two threads, and start it again."""
    randomness = Random(seed)  # noqa: S311 - which moment it is guards nothing
    longest = 0.0
    with ThreadPoolExecutor(2) as pool:
        writers: list[WriterProcess | WriterThread] = [
            *(WriterProcess.start(url, _ID, f"p{number}") for number in range(2)),
            *(WriterThread.start(url, _ID, f"t{number}", pool) for number in range(2)),
        ]
        try:
            for _ in range(times):
                _let_all_write(writers, 2)
                randomness.choice(writers).linger(randomness.uniform(0, 0.02))
                began = time.monotonic()
                server.kill()
                server.start()
                _let_all_write(writers, 1)
                longest = max(longest, time.monotonic() - began)
        finally:
            for writer in writers:
                writer.stop()
    with SqlChatMemoryStore(url) as store:
        history = check_conversation(store, _ID, every=7)
    assert 0 == check_acknowledged(history, writers, unanswered=0)
    return {
        "kills": times,
        "acknowledged": len(history),
        "lost": 0,
        "doubled": 0,
        "outcomes unknown at first": sum(writer.doubts for writer in writers),
        "longest pause in seconds": round(longest, 1),
    }


def _let_all_write(writers: Sequence[Writer], count: int) -> None:
    for writer in writers:
        writer.catch_up()
    for writer in writers:
        writer.wait_for(count)
