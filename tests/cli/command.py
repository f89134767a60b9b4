"""The command line as tests run it: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatmemory.cli import main

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]


def environment(**variables: str) -> dict[str, str]:
    """Return what a process needs to find the package, and no settings of this terminal."""
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **variables}


def process(*arguments: str, folder: Path, text: str = "", code: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``python -m chatmemory`` in a process of its own, or `code` with the arguments behind it."""
    start = ["-m", "chatmemory"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, "-W", "error", *start, *arguments],
        cwd=folder,
        env=environment(),
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[Json], list[str]]:
    """Run ``replay --json`` in this process; return the status, the objects, and the lines of standard error."""
    status = main(["replay", "--json", *arguments])
    printed = capsys.readouterr()
    return status, [json.loads(line) for line in printed.out.splitlines()], printed.err.splitlines()


def write(path: Path, *conversations: object) -> str:
    """Write JSON lines and return the path."""
    path.write_text("".join(json.dumps(one) + "\n" for one in conversations), "utf-8")
    return str(path)


def user(text: str) -> Json:
    """Return a user's message."""
    return {"role": "user", "content": text}


def answer(text: str) -> Json:
    """Return an assistant's message without calls."""
    return {"role": "assistant", "content": text}


def system(text: str) -> Json:
    """Return a system message."""
    return {"role": "system", "content": text}


def call(*ids: str) -> Json:
    """Return an assistant's message that makes calls."""
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(of: str, text: str = "found") -> Json:
    """Return a tool's result."""
    return {"role": "tool", "tool_call_id": of, "content": text}
