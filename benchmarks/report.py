"""What a benchmark says: a table with the versions of everything, written as Markdown and as JSON.

Decides: the form. Knows no benchmark.
"""

from __future__ import annotations

import json
import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

_PACKAGES: Final = ("pychatmemory", "attrs", "sqlalchemy", "tiktoken", "psycopg", "PyMySQL")


@frozen
class Table:
    """One table of results.

    Attributes:
        name: The benchmark's name; the files are called after it.
        title: What is measured, in a sentence.
        columns: Names of the columns.
        rows: What stands in them.
        notes: What one must know to read them.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(factory=list)
    notes: list[str] = field(factory=list)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [f"### {self.title}", "", _line(self.columns), _line("---" for _ in self.columns)]
        lines += [_line(row) for row in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join([*lines, "", f"Versions: {', '.join(f'{k} {v}' for k, v in versions().items())}.", ""])

    def write(self, folder: Path) -> None:
        """Write the table into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.md").write_text(self.markdown(), "utf-8")
        whole = {"title": self.title, "versions": versions(), "notes": self.notes}
        rows = [dict(zip(self.columns, map(str, row), strict=True)) for row in self.rows]
        (folder / f"{self.name}.json").write_text(json.dumps(whole | {"rows": rows}, indent=1), "utf-8")


def versions() -> dict[str, str]:
    """Return the versions of all that takes part."""
    found = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _line(cells: Any) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"
