"""The command ``chatmemory``: what it answers with, and how errors end it.

Decides: the exit status. 0: all is well; 1: something could not be read, accepted or found; 2: the command is wrong, or
its extra is missing. Knows no rule of the window. rich is imported once a command runs: ``--help`` needs nothing.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from chatmemory.cli.arguments import Command, Schema, name_of, parse, usage
from chatmemory.errors import ChatMemoryError, InvalidArgumentError, TokenizerUnavailableError

INCOMPLETE: Final = 1
WRONG_COMMAND: Final = 2
INTERRUPTED: Final = 130
"""128 and the number of the signal, as shells have it."""

_INSTALL: Final = 'the command line needs its extra: pip install "pychatmemory[cli]"'
_INSTALL_ALEMBIC: Final = 'db upgrade needs its extra: pip install "pychatmemory[cli,migrations]"'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: As after the command's name in a shell. None: those of this process.

    Raises:
        SystemExit: The help was asked for, or the arguments are wrong.
    """
    command = parse(arguments)
    if find_spec("rich") is None:
        return _fail(_INSTALL, WRONG_COMMAND)
    if command is None:
        return _fail(f"give a command\n{usage()}", WRONG_COMMAND)
    if isinstance(command, Schema) and command.action == "upgrade" and find_spec("alembic") is None:
        return _fail(_INSTALL_ALEMBIC, WRONG_COMMAND)
    # What leaves as oversize is in the report; without a handler Python would print it a second time.
    logging.getLogger("chatmemory").addHandler(logging.NullHandler())
    return _guarded(command)


def _guarded(command: Command) -> int:
    try:
        return _run(command)
    except InvalidArgumentError as error:
        return _fail(f"{name_of(error.field)} {error.problem}", WRONG_COMMAND)
    except TokenizerUnavailableError as error:
        return _fail(f"{error}; here: --approximate", INCOMPLETE)
    except ChatMemoryError as error:
        return _fail(str(error), INCOMPLETE)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has gone. Python would find that out again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INCOMPLETE


def _run(command: Command) -> int:
    from chatmemory.cli.commands import run  # noqa: PLC0415 - imports rich

    return run(command)


def _fail(problem: str, status: int) -> int:
    sys.stderr.write(f"chatmemory: {problem}\n")
    return status
