"""Back ends for the document store: the README's own, one that compares by itself, and ones with a fault."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from multiprocessing.synchronize import Barrier as ProcessBarrier
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

from attrs import define, field

from chatmemory.stores import Document, DocumentChatMemoryStore, Documents, VersionedDocuments
from chatmemory.testing.changes import add_until_taken

FLAGS = re.MULTILINE | re.DOTALL
README = Path(__file__).parents[2] / "README.md"


def json_files(folder: Path) -> Documents:
    """Return the README's back end, made by the README's own text."""
    (code,) = re.findall(r"^```python\n((?:(?!^```).)*^class JsonFiles\(.*?)^```$", README.read_text("utf-8"), FLAGS)
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(code, README.name, "exec"), names)  # noqa: S102 - it is our own text
    files: Documents = names["JsonFiles"](folder)
    return files


@define
class PlainTexts(Documents):
    """Texts in a dict that several back ends may share; it cannot compare."""

    texts: dict[str, str] = field(factory=dict)

    def get(self, key: str) -> str | None:
        """Look it up."""
        return self.texts.get(key)

    def put(self, key: str, text: str) -> None:
        """Set it."""
        self.texts[key] = text

    def delete(self, key: str) -> None:
        """Drop it."""
        self.texts.pop(key, None)

    def keys(self) -> Iterable[str]:
        """List them."""
        return list(self.texts)


@define
class VersionedTexts(VersionedDocuments):
    """Texts in a dict, each with a number that is never given twice; it compares by itself."""

    kept: dict[str, Document] = field(factory=dict)
    numbers: Any = field(factory=count)
    lock: Any = field(factory=Lock)

    def get(self, key: str) -> Document | None:
        """Look it up."""
        return self.kept.get(key)

    def put(self, key: str, text: str, *, expected: Any) -> bool:
        """Compare and set."""
        with self.lock:
            if not self._is_at(key, expected):
                return False
            self.kept[key] = Document(text, next(self.numbers))
            return True

    def delete(self, key: str, *, expected: Any) -> bool:
        """Compare and drop."""
        with self.lock:
            if not self._is_at(key, expected):
                return False
            del self.kept[key]
            return True

    def keys(self) -> Iterable[str]:
        """List them."""
        return list(self.kept)

    def _is_at(self, key: str, expected: Any) -> bool:
        found = self.kept.get(key)
        return bool((None if found is None else found.revision) == expected)


def meeting() -> Barrier:
    """Return where the six writers of the suite's test meet."""
    return Barrier(6, timeout=30)


@define
class MeetingVersions(VersionedTexts):
    """Lets nobody write before all writers have read: whoever does not compare now overwrites another."""

    met: Barrier = field(factory=meeting)

    def put(self, key: str, text: str, *, expected: Any) -> bool:
        """Wait for the others, then compare and set."""
        self.met.wait()
        return super().put(key, text, expected=expected)


@define
class IgnoringVersions(MeetingVersions):
    """Writes whatever the text was planned on."""

    def _is_at(self, key: str, expected: Any) -> bool:  # noqa: ARG002 - that is the fault
        return True


@define
class MeetingTexts(PlainTexts):
    """Lets nobody take the lock before all writers have read."""

    met: Barrier = field(factory=meeting)

    def locked(self, key: str) -> AbstractContextManager[object]:
        """Wait for the others, then for the lock."""
        self.met.wait()
        return super().locked(key)


@define
class UnlockedTexts(PlainTexts):
    """Has no lock, as between processes; so nobody writes before all writers have compared."""

    met: Barrier = field(factory=meeting)

    def locked(self, key: str) -> AbstractContextManager[object]:
        """Hold nothing."""
        return nullcontext(key)

    def put(self, key: str, text: str) -> None:
        """Wait for the others, then set."""
        self.met.wait()
        super().put(key, text)


def add_to_files(folder: Path, name: str, each: int, start: ProcessBarrier) -> None:
    """Add `each` messages to the conversation ``c`` in the README's files, as a process of its own."""
    with DocumentChatMemoryStore(json_files(folder)) as store:
        start.wait()
        for number in range(each):
            add_until_taken(store, "c", f"{name} {number}")


def hold_lock(folder: Path, held: ProcessEvent) -> None:
    """Take the lock of the README's files, and keep it until the process is killed."""
    with json_files(folder).locked("c-c"):
        held.set()
        signal.pause()
