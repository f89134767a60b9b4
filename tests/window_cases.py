"""The tables of windows as data: adds, and the window after each of them.

Written in the tables' own notation, so that the model and the memory are held against the same lines. A label is one
message: ``S`` system, ``U`` user, ``A`` assistant text, ``C`` assistant with calls, ``R`` result, each with what tells
it apart. ``C1(2):57`` makes two calls and costs 57 tokens (1 where no number is given); an ``R`` answers the next call
of the nearest ``C`` before it, ``R1=C1`` the next of that one; a ``?`` behind C or R leaves the ids out.
``resize(5)`` gives the main limit another value. ``…`` is a window that the table does not state; missing ones at
the front are not stated either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from attrs import evolve, field, frozen

from chatmemory.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from tests.window_settings import NO_GUARDS, WindowSettings, message_settings, token_settings

_LABEL = re.compile(
    r"(?P<name>(?P<kind>[SUACR])\w*)(?P<bare>\?)?(?:=(?P<of>C\w*))?(?:\((?P<n>\d)\))?(?::(?P<size>\d+))?"
)


@frozen
class Case:
    """One line of a table.

    Attributes:
        name: The line's number.
        settings: The memory's, all guards on; `fifo` is held against the same settings with none.
        adds: Labels, one operation each.
        guarded: The windows with all guards; None where the line does not say.
        fifo: The windows without guards; None where the line does not say.
        tokens: Totals after each operation, with guards (None: not stated), aligned at the end.
        fifo_tokens: The same without guards; `tokens` where the windows are the same.
        oversize: Operations that a Change calls oversize, with guards, by label.
        error: With guards: what the last operation raises, as (needed, allowed).
    """

    name: str
    settings: WindowSettings
    adds: str
    guarded: str | None
    fifo: str | None = None
    tokens: tuple[int, ...] = ()
    fifo_tokens: tuple[int, ...] = ()
    oversize: tuple[str, ...] = ()
    error: tuple[int, int] | None = None


@frozen
class Step:
    """One operation of a case and what follows: `window` as labels, `oversize`; None where it is not stated."""

    label: str
    message: Message | None
    resize_to: int | None
    window: list[str] | None
    tokens: int | None
    oversize: bool | None
    error: tuple[int, int] | None


@frozen
class Run:
    """A case under one set of guards, ready to be played."""

    name: str
    settings: WindowSettings
    steps: list[Step] = field(repr=False)


def label_of(message: Message) -> str:
    """The label's name that a message was made from."""
    return message.text.partition(":")[0]


def runs() -> list[Run]:
    """Every case with its guards, and again without any where the line says what happens then."""
    guarded = [
        Run(case.name, case.settings, _steps(case, case.guarded, case.tokens, case.oversize))
        for case in CASES
        if case.guarded
    ]
    return guarded + [_without_guards(case) for case in CASES if case.fifo]


def _without_guards(case: Case) -> Run:
    same = case.fifo == case.guarded
    steps = _steps(case, case.fifo, case.tokens if same else case.fifo_tokens, case.oversize if same else None)
    return Run(f"{case.name} fifo", evolve(case.settings, guards=NO_GUARDS), steps)


def _steps(case: Case, stated: str | None, tokens: tuple[int, ...], oversize: tuple[str, ...] | None) -> list[Step]:
    labels = case.adds.split()
    windows = [None if one == "…" else one[1:-1].split() for one in re.findall(r"\[[^\]]*\]|…", stated or "")]
    windows = [None] * (len(labels) - len(windows)) + windows
    totals = [None] * (len(labels) - len(tokens)) + list(tokens)
    errors = [None] * (len(labels) - 1) + [case.error]
    return [
        Step(label, message, _limit(label), window, total, None if oversize is None else label in oversize, error)
        for label, message, window, total, error in zip(
            labels, messages_of(labels), windows, totals, errors, strict=True
        )
    ]


def _limit(label: str) -> int | None:
    found = re.fullmatch(r"resize\((\d+)\)", label)
    return int(found[1]) if found else None


def messages_of(labels: list[str]) -> list[Message | None]:
    """The message of each label, None for a ``resize``."""
    waiting: dict[str, list[str | None]] = {}
    return [None if _limit(label) else _message(label, waiting) for label in labels]


def _message(label: str, waiting: dict[str, list[str | None]]) -> Message:
    found = _LABEL.fullmatch(label)
    assert found, label
    text = f"{found['name']}:{found['size'] or 1}"
    if found["kind"] == "R":
        return ToolMessage(text, tool_call_id=waiting[found["of"] or list(waiting)[-1]].pop(0))
    if found["kind"] == "C":
        ids = [None if found["bare"] else f"{found['name']}.{at}" for at in range(int(found["n"]))]
        waiting[found["name"]] = list(ids)
        return AssistantMessage(text, tool_calls=tuple(ToolCall(one, "look") for one in ids))
    return _PLAIN[found["kind"]](text)


_PLAIN: Final[dict[str, Callable[[str], Message]]] = {"S": SystemMessage, "U": UserMessage, "A": AssistantMessage}
_REPLACING_FIFO = "[S1] [S1 U] [S1 U C] [S2 U C] [S2 U C R] [S2 C R A] [S2 A U2]"
_REPLACING_GUARDED = "[S1] [S1 U] [S1 U C] [S2 U C] [S2 U C R] [S2 U A] [S2 U A U2]"

CASES: Final = (
    Case("W1", message_settings(2), "U1 U2 U3", "[U1] [U1 U2] [U2 U3]", "[U1] [U1 U2] [U2 U3]"),
    Case("W2", message_settings(3), "U1 A1 U2 A2", "[U1 A1 U2] [A1 U2 A2]", "[U1 A1 U2] [A1 U2 A2]"),
    Case("W3", message_settings(3), "S U1 A1 U2 A2", "[S U2 A2]", "[S U2 A2]"),
    Case("W4", message_settings(3), "S1 U A S2", "[S2 U A]", "[S2 U A]"),
    Case("W5", message_settings(3), "S U A S", "[S U A] [S U A]", "[S U A] [S U A]"),
    Case(
        "W6",
        message_settings(2),
        "U C(1) R A",
        "[U] [U C] [U] [U A]",
        "[U] [U C] [C R] [A]",
        oversize=("R",),
    ),
    Case("W7", message_settings(3), "U C(1) R A", "[U C R] [U A]", "[U] [U C] [U C R] [C R A]"),
    Case("W8", message_settings(2), "S U C(1) R", "[S] [S U] [S U] [S U]", "[S] [S U] [S C] [S]", oversize=("C(1)",)),
    Case("W9", message_settings(4), "S U C(2) R1 R2 A", "[S U] [S U A]", "[S C R1 R2] [S A]", oversize=("R2",)),
    Case(
        "W10",
        message_settings(4),
        "U C(6) R1 R2 R3 R4 R5 R6 A",
        "[U C R1 R2] [U] [U] [U] [U] [U A]",
        "[U C R1 R2] [C R1 R2 R3] [] [] [] [A]",
        oversize=("R3",),
    ),
    Case(
        "W11",
        message_settings(3),
        "U1 U2 U3 U4 resize(5) U5 resize(2)",
        "[U2 U3 U4] [U2 U3 U4] [U2 U3 U4 U5] [U4 U5]",
        "[U2 U3 U4] [U2 U3 U4] [U2 U3 U4 U5] [U4 U5]",
    ),
    Case("W12", message_settings(4), "S1 U C(1) S2 R A U2", _REPLACING_GUARDED, _REPLACING_FIFO),
    Case("W14", message_settings(3, unit="turn"), "U1 A1 U2 A2", "[U1 A1 U2] [U2 A2]", "[U1 A1 U2] [U2 A2]"),
    Case("W15", message_settings(9), "U A U", "[U A U]", "[U A U]"),
    Case("W17", message_settings(4), "U C(1) U2 U3 U4", "[U C U2 U3] [C U2 U3 U4]", "[U C U2 U3] [C U2 U3 U4]"),
    Case("W18", message_settings(9), "U1 C(1) U2 A2 R", "[U1 C R U2 A2]", "[U1 C R U2 A2]"),
    Case("W19", message_settings(2), "S U1 A1 U2", "[S] [S U1] [S A1] [S U2]", "[S] [S U1] [S A1] [S U2]"),
    Case(
        "W20",
        message_settings(4, unit="turn"),
        "U1 C1(1) R1 C2(1) R2 A",
        "[U1 C1 R1 C2] [U1 C2 R2] [U1 C2 R2 A]",
    ),
    Case("W21", message_settings(3), "U1 C(1) A1 A2", "[U1 C A1] [U1 A1 A2]", "[U1 C A1] [C A1 A2]"),
    Case("W22", message_settings(9), "U C?(2) R1 R2", "[U C R1 R2]", "[U C R1 R2]"),
    Case(
        "T1",
        token_settings(33),
        "U1:10 A1:10 U2:10 A2:10",
        "[U1] [U1 A1] [U1 A1 U2] [A1 U2 A2]",
        "[U1] [U1 A1] [U1 A1 U2] [A1 U2 A2]",
        tokens=(13, 23, 33, 33),
    ),
    Case(
        "T2",
        token_settings(33),
        "S:10 U1:10 A1:10 U2:10 A2:10",
        "[S U1 A1] [S A1 U2] [S U2 A2]",
        "[S U1 A1] [S A1 U2] [S U2 A2]",
        tokens=(33, 33, 33),
    ),
    Case(
        "T3",
        token_settings(39),
        "U:12 C(1):24 R:5 A:11",
        "[U] [U C] [U] [U A]",
        "[U] [U C] [C R] [A]",
        tokens=(15, 39, 15, 26),
        fifo_tokens=(15, 39, 32, 14),
        oversize=("R:5",),
    ),
    Case(
        "T4",
        token_settings(91),
        "S:9 U:17 C(2):57 R1:5 R2:5 A:20",
        "[S] [S U] [S U C] [S U C R1] [S U] [S U A]",
        "[S] [S U] [S U C] [S U C R1] [S C R1 R2] [S A]",
        tokens=(12, 29, 86, 91, 29, 49),
        fifo_tokens=(12, 29, 86, 91, 79, 32),
        oversize=("R2:5",),
    ),
    Case(
        "T5",
        token_settings(40),
        "S:10 U1:10 A1:10 U2:100",
        "[S U1 A1] [S U1 A1]",
        "[S U1 A1] [S U1 A1]",
        tokens=(33, 33),
        oversize=("U2:100",),
    ),
    Case(
        "T5 raise",
        evolve(token_settings(40), overflow="raise"),
        "S:10 U1:10 A1:10 U2:100",
        "[S U1 A1] [S U1 A1]",
        "[S U1 A1] [S U1 A1]",
        tokens=(33, 33),
        error=(113, 40),
    ),
    Case(
        "T5 keep",
        evolve(token_settings(40), overflow="keep"),
        "S:10 U1:10 A1:10 U2:100",
        "[S U1 A1] [S U2]",
        "[S U1 A1] [S U2]",
        tokens=(33, 113),
    ),
    Case("T6", token_settings(40), "S:50", "[]", "[]", tokens=(0,), error=(53, 40)),
    Case("T6 raise", evolve(token_settings(40), overflow="raise"), "S:50", "[]", "[]", tokens=(0,), error=(53, 40)),
    Case("T6 keep", evolve(token_settings(40), overflow="keep"), "S:50", "[S]", "[S]", tokens=(53,)),
    Case(
        "T7",
        token_settings(40, evict_to=25),
        "U1:10 A1:10 U2:10 A2:10 U3:10 A3:10",
        "[U1] [U1 A1] [U1 A1 U2] [U2 A2] [U2 A2 U3] [U3 A3]",
        "[U1] [U1 A1] [U1 A1 U2] [U2 A2] [U2 A2 U3] [U3 A3]",
        tokens=(13, 23, 33, 23, 33, 23),
    ),
    Case("T8", token_settings(2), "U:25", "[]", "[]", tokens=(0,), oversize=("U:25",)),
    Case("T11", token_settings(40), "S1:10 U:27 S2:11", "[S1 U] [S2]", tokens=(40, 14)),
    Case("T12", token_settings(100), "S:10 U:10 C(1):10 R:20 resize(35)", "[S U C R] [S U]", tokens=(53, 23)),
    Case(
        "T12 raise",
        evolve(token_settings(100), overflow="raise"),
        "S:10 U:10 C(1):10 R:20 resize(35)",
        "[S U C R] [S U C R]",
        tokens=(53, 53),
        error=(53, 35),
    ),
    Case("T13", token_settings(100), "S:10 U:50 A:45", "[S U] [S A]", "[S U] [S A]", tokens=(63, 58)),
    Case(
        "T14",
        token_settings(100, evict_to=0.5),
        "S:60 U1:5 A1:5 U2:5 A2:5 U3:5 A3:5 U4:5 A4:5",
        "[S U1 A1 U2 A2 U3 A3 U4] [S A3 U4 A4]",
        "[S U1 A1 U2 A2 U3 A3 U4] [S A3 U4 A4]",
        tokens=(98, 78),
    ),
    Case("T15", token_settings(100), "U1:20 A1:10 U2:50 A2:55", "[U1 A1 U2] [U1 A1 A2]", tokens=(83, 88)),
    Case("R5 oldest", token_settings(80), "U1:20 A1:10 U2:40 A2:50", "[U1 A1 U2] [A1 A2]", tokens=(73, 63)),
    Case(
        "R5 no more",
        evolve(token_settings(70), overflow="raise"),
        "U1:20 A1:10 U2:30 A2:55",
        "[U1 A1 U2] [A1 A2]",
        tokens=(63, 68),
    ),
    Case(
        "R6 request last", token_settings(60), "S1:5 U1:10 C(1):10 U2:30 S2:40", "[S1 U1 C U2] [S2 C]", tokens=(58, 53)
    ),
    Case(
        "R8 no request",
        evolve(token_settings(100), unit="turn"),
        "S1:5 U1:20 A1:10 U2:50 A2:10 resize(40)",
        "[S1 U1 A1 U2 A2] [S1 U1 A2]",
        tokens=(98, 38),
    ),
    Case(
        "R7 share",
        token_settings(90, evict_to=0.7),
        "U1:10 A1:20 U2:20 A2:40",
        "[U1 A1 U2] [U2 A2]",
        "[U1 A1 U2] [U2 A2]",
        tokens=(53, 63),
    ),
    Case(
        "T15 turn",
        evolve(token_settings(100), unit="turn"),
        "U1:20 A1:10 U2:50 A2:55",
        "[U1 A1 U2] [U1 A1 U2]",
        tokens=(83, 83),
        oversize=("A2:55",),
    ),
)
"""Every line about windows, but for those about lists, commits and real text (W13, W16, T9, T10). Lines that are named
by a rule are not in the tables: guards look once, before anything leaves; turns are those of the window; 0.7 of 90 is
63, whatever floats say."""
