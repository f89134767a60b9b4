"""Stores with one fault each, and the test of the suite that catches it. Each is a thin wrapper over a right store.

Decides: which faults the suite must find. A fault that no test names here may slip through.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import define, evolve, field

from chatmemory.core.entries import Change, Entry, Snapshot, Stamp
from chatmemory.errors import ConflictError
from chatmemory.messages import UserMessage
from tests.stores.passing import PassingStore


@define
class Wrapper(PassingStore):
    """Passes everything on; `seen` is for what a faulty store remembers."""

    seen: dict[str, Any] = field(factory=dict, init=False)


class LosesUpdates(Wrapper):
    """Takes a change that was planned on a stale version for written."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Hide the conflict."""
        try:
            return self.inner.commit(conversation_id, change, expected)
        except ConflictError:
            return expected.epoch or "none"


class SwapsWithoutComparing(Wrapper):
    """Asks for the version after the plan, so that it is never stale."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Write whatever the plan was made on."""
        found = self.inner.load(conversation_id)
        if found is None or expected == Stamp(found.epoch, found.version):
            return self.inner.commit(conversation_id, change, expected)
        moved = tuple(
            evolve(entry, seq=found.next_seq + at, entered=found.version + 1) for at, entry in enumerate(change.written)
        )
        late = evolve(change, version=found.version + 1, written=moved, next_seq=found.next_seq + len(moved))
        return self.inner.commit(conversation_id, late, Stamp(found.epoch, found.version))


class OrdersByClock(Wrapper):
    """Sorts by time."""

    def history(
        self, conversation_id: str, *, after: int = 0, limit: int = 1000, owner: str | None = None
    ) -> list[Entry]:
        """Sort a page by time."""
        page = self.inner.history(conversation_id, after=after, limit=limit, owner=owner)
        return sorted(page, key=lambda entry: entry.added_at)


class CommitsHalf(Wrapper):
    """Writes the first entry of a change only."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Drop the other entries."""
        return self.inner.commit(conversation_id, evolve(change, written=change.written[:1]), expected)


class ForgetsRemovals(Wrapper):
    """Writes the entries of a change, and not that others left."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Drop the removals."""
        return self.inner.commit(conversation_id, evolve(change, removed=()), expected)


class ReadsStale(Wrapper):
    """Keeps a window that it read until it writes itself."""

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Read once."""
        if conversation_id not in self.seen:
            self.seen[conversation_id] = self.inner.load(conversation_id, owner=owner)
        found: Snapshot | None = self.seen[conversation_id]
        return found

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Forget what was read."""
        self.seen.clear()
        return self.inner.commit(conversation_id, change, expected)


class ReadsTorn(Wrapper):
    """Reads the version first and the entries afterwards, with time for another writer between."""

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Read twice, the second time a little later."""
        first = second = self.inner.load(conversation_id, owner=owner)
        for _ in range(300):
            second = self.inner.load(conversation_id, owner=owner)
            if first is None or second is None or first.version != second.version:
                break
        return first and second and evolve(first, entries=second.entries)


class CommitsTwice(Wrapper):
    """Does not know a change again."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Give each try a key of its own."""
        key = f"{change.commit_id} {len(self.seen)}"
        self.seen[key] = True
        return self.inner.commit(conversation_id, evolve(change, commit_id=key), expected)


class KnowsNoLives(Wrapper):
    """Gives all conversations the same epoch."""

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Hide the epoch."""
        found = self.inner.load(conversation_id, owner=owner)
        return found and evolve(found, epoch="always")

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Take any epoch for the right one."""
        found = self.inner.load(conversation_id)
        epoch = found.epoch if found and expected.epoch else None
        self.inner.commit(conversation_id, change, Stamp(epoch, expected.version))
        return "always"


class DeletesNothing(Wrapper):
    """Says that it deleted."""

    def delete(self, conversation_id: str, *, owner: str | None = None) -> bool:
        """Delete nothing."""
        return self.inner.load(conversation_id, owner=owner) is not None


class FoldsCase(Wrapper):
    """Takes ids for one another that differ in case."""

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Fold the id."""
        return self.inner.load(conversation_id.casefold(), owner=owner)

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Fold the id."""
        return self.inner.commit(conversation_id.casefold(), change, expected)


class RepairsStrings(Wrapper):
    """Makes Unicode text of every string."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Join surrogates that stand side by side."""
        written = tuple(evolve(entry, message=UserMessage(_joined(entry.message.text))) for entry in change.written)
        return self.inner.commit(conversation_id, evolve(change, written=written), expected)


class DropsMicroseconds(Wrapper):
    """Keeps times to the second."""

    def history(
        self, conversation_id: str, *, after: int = 0, limit: int = 1000, owner: str | None = None
    ) -> list[Entry]:
        """Cut the times."""
        page = self.inner.history(conversation_id, after=after, limit=limit, owner=owner)
        return [evolve(entry, added_at=entry.added_at.replace(microsecond=0)) for entry in page]


class ShowsTheDead(Wrapper):
    """Shows in an old window what had left already."""

    def window_at(self, conversation_id: str, version: int, *, owner: str | None = None) -> list[Entry]:
        """Ask only when an entry came."""
        self.inner.window_at(conversation_id, version, owner=owner)
        return [entry for entry in self.inner.history(conversation_id, owner=owner) if entry.entered <= version]


class SkipsAtPageEnds(Wrapper):
    """Loses the entry after each page."""

    def history(
        self, conversation_id: str, *, after: int = 0, limit: int = 1000, owner: str | None = None
    ) -> list[Entry]:
        """Begin one too late."""
        return self.inner.history(conversation_id, after=after + 1 if after else 0, limit=limit, owner=owner)


class ShowsToAnyone(Wrapper):
    """Reads for an owner what is another's."""

    def history(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        limit: int = 1000,
        owner: str | None = None,  # noqa: ARG002 - that is the fault
    ) -> list[Entry]:
        """Ask for nobody."""
        return self.inner.history(conversation_id, after=after, limit=limit)


class KeepsTheRedacted(Wrapper):
    """Marks a change, and leaves what it was to destroy."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Drop the redactions."""
        return self.inner.commit(conversation_id, evolve(change, redacted=()), expected)


class ForgetsTitles(Wrapper):
    """Writes an owner, and no title."""

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Drop the title."""
        about = change.about and evolve(change.about, title=None)
        return self.inner.commit(conversation_id, evolve(change, about=about), expected)


class NeverCloses(Wrapper):
    """Goes on after `close`."""

    def close(self) -> None:
        """Stay open."""


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


CAUGHT_BY: Final[dict[type[Wrapper], tuple[str, dict[str, Any]]]] = {
    LosesUpdates: ("test_a_stale_version_conflicts", {}),
    SwapsWithoutComparing: ("test_a_stale_version_conflicts", {}),
    OrdersByClock: ("test_order_is_not_that_of_a_clock", {}),
    CommitsHalf: ("test_entries_come_back_in_order", {}),
    ForgetsRemovals: ("test_what_left_keeps_version_and_reason", {}),
    ReadsStale: ("test_the_store_is_read_as_it_is_now", {}),
    ReadsTorn: ("test_a_reader_sees_whole_changes", {}),
    CommitsTwice: ("test_a_change_is_taken_once", {}),
    KnowsNoLives: ("test_an_epoch_belongs_to_one_life", {}),
    DeletesNothing: ("test_delete_leaves_nothing", {}),
    FoldsCase: ("test_ids_are_exact", {}),
    RepairsStrings: ("test_every_string_survives", {"text": "\ud83d\ude00"}),
    DropsMicroseconds: ("test_order_is_not_that_of_a_clock", {}),
    ShowsTheDead: ("test_the_window_at_every_version", {}),
    SkipsAtPageEnds: ("test_the_history_is_paged", {"size": 2}),
    ShowsToAnyone: ("test_a_foreign_conversation_is_as_one_that_is_not_there", {}),
    KeepsTheRedacted: ("test_what_is_redacted_is_gone_everywhere", {}),
    ForgetsTitles: ("test_what_is_known_of_a_conversation_is_kept", {}),
    NeverCloses: ("test_use_after_close_is_an_error", {"method": "load"}),
}
"""Each faulty store, the test that catches it, and that test's parameters."""
