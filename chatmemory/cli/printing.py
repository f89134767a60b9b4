"""What is printed, and where: results on standard output, problems and progress on standard error.

Decides: tables for people, JSON lines for machines, and that the progress bar shows on a terminal only. No text of a
conversation is read as markup. Knows reports and windows, and neither files nor memories.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from chatmemory import Window
from chatmemory.cli.replaying import Report
from chatmemory.cli.showing import entry_json, line_of, plain

_WIDTH: Final = 140
"""Columns of output that goes to a file or a pipe."""


class Printer:
    """Prints for people, or with `as_json` for machines."""

    def __init__(self, *, as_json: bool) -> None:
        for stream in (sys.stdout, sys.stderr):
            _never_fail(stream)
        self._as_json = as_json
        self._out = _console(sys.stdout)
        self._err = _console(sys.stderr)

    def problem(self, text: str) -> None:
        """Say on standard error what went wrong; the rest goes on."""
        self._err.print(Text(f"chatmemory: {plain(text)}"), soft_wrap=True)

    def progress(self) -> Progress:
        """Return a progress bar, which shows nothing where it would mix with results or fill a log."""
        mixes = self._as_json and sys.stdout.isatty()
        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._err,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=mixes or not sys.stderr.isatty(),
        )

    def report(self, report: Report, *, show: bool) -> None:
        """Print one conversation's JSON at once; for people there is a table at the end."""
        if self._as_json:
            entries = {"entries": [entry_json(entry) for entry in report.window]} if show else {}
            _print_json(_report_json(report) | entries)

    def reports(self, reports: Sequence[Report], *, show: bool) -> None:
        """Print the table, what was not accepted, and with `show` the windows."""
        if self._as_json or not reports:
            return
        self._out.print(_report_table(reports))
        for report in reports:
            for missing in report.not_accepted:
                self._out.print(Text(plain(f"{report.source}: {missing.reason}")), soft_wrap=True)
        for report in reports if show else ():
            self.window(report.id, report.window)

    def window(self, conversation_id: str, window: Window) -> None:
        """Print the entries of a window."""
        if self._as_json:
            entries = [entry_json(entry) for entry in window]
            _print_json({"id": conversation_id, "version": window.version, "entries": entries})
        else:
            self._out.print(_window_table(conversation_id, window))


def _never_fail(stream: TextIO) -> None:
    # A terminal that cannot show a character gets it spelled out, not a traceback.
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _console(stream: TextIO) -> Console:
    is_fixed = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(file=stream, width=_WIDTH if is_fixed else None, highlight=False)


def _print_json(value: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()  # whoever reads along gets each conversation when it is done


def _report_json(report: Report) -> dict[str, Any]:
    return {
        "id": report.id,
        "source": report.source,
        "messages": report.given,
        "window": len(report.window),
        "tokens": report.window.tokens,
        "over_budget": report.window.over_budget,
        "version": report.window.version,
        "evicted": report.evicted,
        "refused": report.refused,
        "not_accepted": [{"index": one.index, "reason": one.reason} for one in report.not_accepted],
        "findings": report.findings,
    }


def _report_table(reports: Iterable[Report]) -> Table:
    table = Table()
    table.add_column("conversation", overflow="fold")
    for name in ("messages in", "in the window", "tokens"):
        table.add_column(name, justify="right")
    for name in ("evicted", "refused", "not accepted", "findings"):
        table.add_column(name, overflow="fold")
    for report in reports:
        cells = (
            plain(report.id),
            str(report.given),
            str(len(report.window)),
            _tokens(report),
            _counts(report.evicted),
            _counts(report.refused),
            str(len(report.not_accepted)),
            _counts(report.findings),
        )
        table.add_row(*map(Text, cells))
    return table


def _tokens(report: Report) -> str:
    tokens = report.window.tokens
    over = " (over)" if report.window.over_budget else ""
    return "not counted" if tokens is None else f"{tokens}{over}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "0"


def _window_table(conversation_id: str, window: Window) -> Table:
    counts = [entry.tokens for entry in window if entry.tokens is not None]
    tokens = f"{sum(counts)} tokens and what a request costs besides" if counts else "tokens not counted"
    title = f"{plain(conversation_id)}: messages {len(window)}, {tokens}, version {window.version}"
    table = Table(title=Text(title), title_justify="left", expand=True)
    for name in ("seq", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("role", no_wrap=True)
    table.add_column("message", ratio=1, no_wrap=True, overflow="ellipsis")
    for entry in window:
        tokens_of = "" if entry.tokens is None else str(entry.tokens)
        table.add_row(str(entry.seq), tokens_of, entry.message.role, Text(line_of(entry.message)))
    return table
