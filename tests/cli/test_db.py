"""``chatmemory db``: the tables made, upgraded and checked, with exit statuses that a deployment can rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatmemory.cli import main
from chatmemory.stores import SqlChatMemoryStore, upgrade_schema
from chatmemory.stores._sql_schema import NEWEST, REVISIONS
from chatmemory.testing.store_entries import agree
from tests.cli.command import process
from tests.stores.schemas import fill_old

Capsys = pytest.CaptureFixture[str]
MAIN = "from chatmemory.cli import main; sys.exit(main(sys.argv[1:]))"
WITHOUT_ALEMBIC = f"import sys; sys.modules['alembic'] = None; {MAIN}"


def test_the_way_of_a_deployment(database_url: str, capsys: Capsys) -> None:
    """Older tables: `check` ends with 1 and the command to run, `upgrade` with 0, and then `check` with 0."""
    models = fill_old(database_url, REVISIONS[0], ["a"])
    said = []
    for action in ("check", "current", "upgrade", "check", "current"):
        status = main(["db", action, "--db", database_url])
        printed = capsys.readouterr()
        said.append((status, printed.out, bool(printed.err)))
        if status:
            assert printed.err.startswith("chatmemory: ")
            assert "run: chatmemory db upgrade --db " in printed.err
            assert 1 == printed.err.count("\n")
    assert [
        (1, f"{REVISIONS[0]}\n", True),
        (0, f"{REVISIONS[0]}\n", False),
        (0, f"{NEWEST}\n", False),
        (0, f"{NEWEST}\n", False),
        (0, f"{NEWEST}\n", False),
    ] == said
    with SqlChatMemoryStore(database_url) as store:
        agree(store, "a", models["a"])


def test_an_empty_database(tmp_path: Path, capsys: Capsys) -> None:
    """`upgrade` makes the tables of a database that has none; before, `current` says none and `check` what to run."""
    url = f"sqlite:///{tmp_path}/chat.db"
    (tmp_path / "chat.db").touch()
    assert [0, 1] == [main(["db", action, "--db", url]) for action in ("current", "check")]
    printed = capsys.readouterr()
    assert "none\nnone\n" == printed.out
    assert "holds no schema yet; run: chatmemory db upgrade --db " in printed.err
    assert 0 == main(["db", "upgrade", "--db", url])
    assert f"{NEWEST}\n" == capsys.readouterr().out
    assert 0 == main(["db", "check", "--db", url])


@pytest.mark.parametrize("action", ["current", "check"])
def test_looking_makes_no_file(tmp_path: Path, capsys: Capsys, action: str) -> None:
    """A mistyped path is an error, and makes no file."""
    assert 1 == main(["db", action, "--db", f"sqlite:///{tmp_path}/typo.db"])
    assert "there is no file" in capsys.readouterr().err
    assert [] == list(tmp_path.iterdir())


@pytest.mark.server
def test_partitions(postgresql_url: str, capsys: Capsys) -> None:
    """`--partitions` splits the tables where there are none yet; another number afterwards is a wrong command."""
    for partitions, status in (("4", 0), ("4", 0), ("8", 2)):
        assert status == main(["db", "upgrade", "--db", postgresql_url, "--partitions", partitions])
    expected = "chatmemory: --partitions is 8, and the tables that are there are in 4 parts; "
    assert capsys.readouterr().err.startswith(expected)
    assert 0 == main(["db", "check", "--db", postgresql_url])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("db", "the following arguments are required: ACTION"),
        ("db upgrade", "the following arguments are required: --db"),
        ("db downgrade --db sqlite:///chat.db", "invalid choice: 'downgrade'"),
        ("db check --db sqlite:///chat.db --partitions 8", "unrecognized arguments: --partitions 8"),
    ],
)
def test_wrong_commands(capsys: Capsys, arguments: str, problem: str) -> None:
    """What argparse can see is wrong usage: status 2 and the reason."""
    with pytest.raises(SystemExit) as exit_info:
        main(arguments.split())
    assert 2 == exit_info.value.code
    assert problem in capsys.readouterr().err


def test_without_its_extra(tmp_path: Path) -> None:
    """Without Alembic `upgrade` prints what to install and exits with 2; the others need none."""
    url = f"sqlite:///{tmp_path.as_posix()}/chat.db"
    upgrade_schema(url)
    done = process("db", "upgrade", "--db", url, folder=tmp_path, code=WITHOUT_ALEMBIC)
    expected = 'chatmemory: db upgrade needs its extra: pip install "pychatmemory[cli,migrations]"\n'
    assert (2, "", expected) == (done.returncode, done.stdout, done.stderr)
    done = process("db", "check", "--db", url, folder=tmp_path, code=WITHOUT_ALEMBIC)
    assert (0, f"{NEWEST}\n", "") == (done.returncode, done.stdout, done.stderr)
