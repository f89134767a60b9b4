"""The documentation is true: its Python blocks run, it names every public thing, and the changelog knows the version.

A block runs in a process of its own, as a reader would run it, beside a local server that speaks OpenAI's chat
completions, to which ``OpenAI()`` is pointed. The blocks of a document share one folder. A comment on the line before
a block changes that: ``<!-- continued -->`` runs it after the block before it, in its namespace, and
``<!-- not run: REASON -->`` only compiles it.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import chatmemory
from tests.chat_server import chat_server

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text: str) -> list[str]:
    r"""Return the programs in a document, each at its lines of the document, so that a traceback names them.

    Example:
        >>> programs("```python\na = 1\n```\n<!-- continued -->\n```python\nb = a\n```\n")
        ['\na = 1\n\n\n\nb = a\n']
    """
    found: list[str] = []
    for block in BLOCK.finditer(text):
        mark, line = block["mark"] or "", text.count("\n", 0, block.start("code"))
        if mark.startswith("not run: "):
            compile(block["code"], f"block at line {line}", "exec")
        elif mark == "continued":
            found[-1] += "\n" * (line - found[-1].count("\n")) + block["code"]
        else:
            found.append("\n" * line + block["code"])
    return found


def run(program: str, folder: Path, base_url: str) -> None:
    """Run `program` in `folder`; a warning is a failure, as in all tests."""
    (folder / "block.py").write_text(program, "utf-8")
    paths = os.pathsep.join(path for path in (str(ROOT), os.environ.get("PYTHONPATH")) if path)
    environment = {**os.environ, "PYTHONPATH": paths, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "unused"}
    command = [sys.executable, "-W", "error", "block.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def base_url() -> Iterator[str]:
    """The address of a local server that answers as OpenAI does."""
    with chat_server() as url:
        yield url


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_blocks_run(document: Path, tmp_path: Path, base_url: str) -> None:
    """Every Python block of the documentation runs as it stands."""
    for program in programs(document.read_text("utf-8")):
        run(program, tmp_path, base_url)


def test_readme_has_a_program() -> None:
    """The README shows the library at work, so that the test of its blocks is not empty."""
    assert [] != programs((ROOT / "README.md").read_text("utf-8"))


def test_a_wrong_block_fails(tmp_path: Path, base_url: str) -> None:
    """A block that raises fails, and its traceback names the line of the document."""
    (program,) = programs("One\n\n```python\nassert 2 == 1 + 1\nraise ValueError\n```\n")
    with pytest.raises(AssertionError, match="line 5"):
        run(program, tmp_path, base_url)


def test_public_names_are_sorted_and_there() -> None:
    """`__all__` is sorted, names nothing twice, and every name can be had."""
    assert sorted(set(chatmemory.__all__)) == list(chatmemory.__all__)
    assert [] == [name for name in chatmemory.__all__ if not hasattr(chatmemory, name)]


def test_public_names_have_docstrings() -> None:
    """Every public class and function has a docstring of its own."""
    public = {name: getattr(chatmemory, name) for name in chatmemory.__all__}
    described = {name: thing for name, thing in public.items() if inspect.isclass(thing) or inspect.isroutine(thing)}
    assert [] == [name for name, thing in described.items() if not (thing.__doc__ or "").strip()]


def test_public_names_are_documented() -> None:
    """README or docs mention every public name."""
    words = set(re.findall(r"\w+", "\n".join(document.read_text("utf-8") for document in DOCUMENTS)))
    assert [] == [name for name in chatmemory.__all__ if name not in words]


def test_changelog_knows_the_version() -> None:
    """CHANGELOG.md has a section, with something in it, for the version in pyproject.toml."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    (section,) = (section for section in sections if section.startswith(f"[{version}]"))
    assert re.search(r"^- \w", section, flags=re.MULTILINE)
