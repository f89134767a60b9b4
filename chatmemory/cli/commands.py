"""The commands. Decides: what happens in which order, what goes on after a problem, and the exit status.

A conversation whose id is stored already is refused: replaying it again would put every message in twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from attrs import define, field
from rich.progress import Progress

from chatmemory import InvalidArgumentError
from chatmemory.cli.arguments import Command, Replay, Schema, Show
from chatmemory.cli.printing import Printer
from chatmemory.cli.reading import SAMPLE, Broken, Conversation, Found, read
from chatmemory.cli.replaying import Budget, Report, replay
from chatmemory.cli.schema import look_after
from chatmemory.cli.showing import check_is_there, plain, stored_window
from chatmemory.stores import ChatMemoryStore

_LONGEST_NAME: Final = 24
"""Characters of an id beside the progress bar, which needs its room."""


def run(command: Command) -> int:
    """Run `command` and return the exit status: 0, or 1 where something could not be read or accepted.

    Raises:
        ChatMemoryError: The command cannot go on.
    """
    if isinstance(command, Schema):
        return look_after(command)
    return _show(command) if isinstance(command, Show) else _replay(command)


def _show(options: Show) -> int:
    check_is_there(options.db)
    with _store(options.db) as store:
        window = stored_window(store, options.id)
    Printer(as_json=options.json).window(options.id, window)
    return 0


def _replay(options: Replay) -> int:
    printer = Printer(as_json=options.json)
    budget = Budget(options)
    reports: list[Report] = []
    try:
        with _store(options.db) if options.db else nullcontext() as store, printer.progress() as progress:
            replays = _Replays(budget, store, progress)
            for outcome in map(replays.outcome, _read_all(options)):
                if isinstance(outcome, Broken):
                    replays.has_problems = True
                    printer.problem(str(outcome))
                else:
                    reports.append(outcome)
                    printer.report(outcome, show=options.show)
    finally:
        printer.reports(reports, show=options.show)
    return int(replays.has_problems or any(report.not_accepted for report in reports))


def _store(url: str) -> AbstractContextManager[ChatMemoryStore]:
    from chatmemory.stores import SqlChatMemoryStore  # noqa: PLC0415 - SQLAlchemy only where there is a database

    return SqlChatMemoryStore(url)


def _read_all(options: Replay) -> Iterator[Found]:
    if options.sample:
        yield from read(str(SAMPLE))
    for name in options.files:
        yield from read(name)


@define
class _Replays:
    """One conversation after another, into one store or into none."""

    budget: Budget
    store: ChatMemoryStore | None
    progress: Progress
    has_problems: bool = field(default=False, init=False)

    def outcome(self, found: Found) -> Report | Broken:
        if isinstance(found, Broken):
            return found
        if self.store is None:
            return self._replayed(found)
        try:
            stored = self.store.load(found.id)
        except InvalidArgumentError as error:
            return Broken(found.source, f"id {error.problem}")
        if stored is not None:
            return Broken(found.source, f"{found.id!r} is stored already; use another --db, or delete it there first")
        return self._replayed(found)

    def _replayed(self, conversation: Conversation) -> Report | Broken:
        try:
            memory = self.budget.open(conversation.id, self.store)
        except InvalidArgumentError as error:
            return Broken(conversation.source, f"{error}")
        task = self.progress.add_task(plain(conversation.id)[:_LONGEST_NAME], total=len(conversation.messages))
        try:
            return replay(conversation, memory, step=lambda: self.progress.advance(task))
        finally:
            self.progress.remove_task(task)
