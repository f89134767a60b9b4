"""Faults that other projects reported, each as a conversation of our own in which it would show, and the right outcome.

A label is one message: ``S`` system, ``U`` user, ``A`` assistant text, ``C1(a,b)`` an assistant's calls with the ids a
and b, ``R(a)`` a result for a; ``?`` stands for no id, ``:57`` for 57 tokens (1 where no number is given). A window is
written in the same labels, without ids and numbers. The outcome is what DESIGN.md says. The names are those of the
collection of cases; what is no matter of windows stands in test_cases_stored.py. Left out, for issues to come: B112 and
B113 (summaries), B115 and B116 (async memories), B118 (taking back the newest message, which is rewind).
"""

from __future__ import annotations

import re
from typing import Final, Literal

from attrs import evolve, frozen

from chatmemory.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from tests.window_settings import WindowSettings, message_settings, token_settings

LATER: Final = frozenset({"B112", "B113", "B115", "B116", "B118"})

_LABEL = re.compile(r"(?P<name>(?P<kind>[SUACR])\w*)(?:\((?P<ids>[\w?,]*)\))?(?::(?P<size>\d+))?")


@frozen
class PublicCase:
    """One fault.

    Attributes:
        name: Of the case; a word behind it where there are several conversations.
        fault: What another system does with such a conversation.
        settings: The memory's.
        adds: Labels, added one by one.
        window: Labels of the window in the end.
        oversize: Whether a Change on the way says so.
    """

    name: str
    fault: str
    settings: WindowSettings
    adds: str
    window: str
    oversize: bool = False


def messages_of(labels: str) -> list[Message]:
    """The message of each label."""
    return [_message(label) for label in labels.split()]


def label_of(message: Message) -> str:
    """The name in the label that a message was made from."""
    return message.text.partition(":")[0]


def _message(label: str) -> Message:
    found = _LABEL.fullmatch(label)
    assert found, label
    text = f"{found['name']}:{found['size'] or 1}"
    ids = [None if one == "?" else one for one in (found["ids"] or "").split(",")]
    match found["kind"]:
        case "S":
            return SystemMessage(text)
        case "U":
            return UserMessage(text)
        case "A":
            return AssistantMessage(text)
        case "C":
            return AssistantMessage(text, tool_calls=tuple(ToolCall(one, "look") for one in ids))
    return ToolMessage(text, tool_call_id=ids[0])


def _keeping(settings: WindowSettings, overflow: Literal["keep", "raise"] = "keep") -> WindowSettings:
    return evolve(settings, overflow=overflow)


ROOMY: Final = message_settings(50)
TEN: Final = "a,b,c,d,e,f,g,h,i,j"
TEN_RESULTS: Final = " ".join(f"R{at}({one})" for at, one in enumerate(TEN.split(",")))

TOOL_PAIRING: Final = (
    PublicCase(
        "B001",
        "the newest N begin with a result whose call was cut off",
        message_settings(4),
        "U1 C(a) R(a) A1 U2 A2",
        "A1 U2 A2",
    ),
    PublicCase(
        "B002",
        "the budget takes a call and leaves its result",
        token_settings(24),
        "U1:8 C(a):6 R(a):7 A1:4 U2:5",
        "U1 A1 U2",
    ),
    PublicCase(
        "B004",
        "where every turn has tools, the cut lands inside a pair sooner or later",
        message_settings(6),
        "U1 C1(a) R1(a) A1 U2 C2(b) R2(b) A2",
        "A1 U2 C2 R2 A2",
    ),
    PublicCase(
        "B005",
        "a message is taken out of the middle: a call, and its result stays",
        message_settings(6),
        "U0 A0 U1 C(a) R(a) A1 U2",
        "A0 U1 C R A1 U2",
    ),
    PublicCase(
        "B007",
        "three are kept, and the first of them is a result",
        message_settings(3),
        "S U1 C(a) R(a) U2 A",
        "S U2 A",
        oversize=True,
    ),
    PublicCase(
        "B008",
        "only the last message is kept while tools run: a lone result",
        message_settings(1),
        "U C(a) R(a)",
        "U",
        oversize=True,
    ),
    PublicCase("B008 keep", "the same, over budget", _keeping(message_settings(1)), "U C(a) R(a)", "U C R"),
    PublicCase("B010", "results at the end go though there is room", token_settings(1000), "S U C(a) R(a)", "S U C R"),
    PublicCase(
        "B011",
        "one request and many exchanges: no place to cut is found",
        message_settings(3),
        "U C1(a) R1(a) C2(b) R2(b) C3(c) R3(c)",
        "U C3 R3",
    ),
    PublicCase(
        "B013",
        "for a stray result at the end the newest question goes",
        message_settings(3),
        "U1 A1 U2 R(nobody)",
        "U1 A1 U2",
    ),
    PublicCase(
        "B014",
        "the current request counts as old and goes, then its exchange: an empty list",
        token_settings(11),
        "U:8 C(a):5 R(a):20",
        "U",
        oversize=True,
    ),
)
PARALLEL: Final = (
    PublicCase(
        "B016",
        "neighbours are looked at only: the second result of one message stays without its call",
        message_settings(4),
        "U1 C(a,b) R1(a) R2(b) A U2",
        "U1 A U2",
    ),
    PublicCase(
        "B017",
        "more results than the window holds push out their own call",
        message_settings(5),
        "U C(a,b,c,d,e,f,g,h) R1(a) R2(b) R3(c) R4(d) R5(e) R6(f) R7(g) R8(h) A",
        "U A",
        oversize=True,
    ),
    PublicCase(
        "B019",
        "the cut lands among ten results of one message",
        message_settings(6),
        f"U1 C({TEN}) {TEN_RESULTS} A U2",
        "U1 A U2",
        oversize=True,
    ),
    PublicCase(
        "B020",
        "one of two results is cut off",
        token_settings(19),
        "U1:2 C(a,b):6 R1(a):4 R2(b):4 A:2 U2:2",
        "U1 A U2",
    ),
    PublicCase(
        "B022",
        "where one of three calls fails, results are lost or change places",
        ROOMY,
        "U C(a,b,c) R2(b) R1(a) R3(c)",
        "U C R2 R1 R3",
    ),
    PublicCase("B023", "of two calls one is never answered", ROOMY, "U1 C(a,b) R(a) U2", "U1 C R U2"),
)
UNANSWERED: Final = (
    PublicCase("B025", "a call without result is stored; the next question is refused", ROOMY, "U1 C(a) U2", "U1 C U2"),
    PublicCase("B026", "the tool died; every later run fails", ROOMY, "U1 C(a) A U2", "U1 C A U2"),
    PublicCase("B028", "a result is written without its call", ROOMY, "U R(a) A", "U A"),
    PublicCase("B029", "the answer is written, the result is not", ROOMY, "U C(a) A", "U C A"),
    PublicCase("B031", "a call is written twice, its result once", ROOMY, "U C1(a) C2(a) R(a)", "U C1 C2 R"),
    PublicCase(
        "B032",
        "a call that waits for a person is evicted, and its result finds nobody",
        message_settings(3),
        "U C(a) R(a)",
        "U C R",
    ),
    PublicCase(
        "B032 later",
        "the same, in a conversation that is full",
        message_settings(3),
        "U1 A1 U2 C(a) R(a)",
        "U2 C R",
    ),
    PublicCase("B034", "the user speaks while the tool runs", ROOMY, "U1 C(a) U2 R(a) A", "U1 C R U2 A"),
)
INTERLEAVED: Final = (
    PublicCase("B035", "a notice stands between call and result", ROOMY, "U C(a) Unotice R(a) A", "U C R Unotice A"),
    PublicCase("B037", "a system message stands between call and result", ROOMY, "S1 U C(a) S2 R(a) A", "S2 U C R A"),
    PublicCase("B038", "a call that broke off is left out, its result is not", ROOMY, "U1 R(a) U2 A", "U1 U2 A"),
)
SYSTEM: Final = (
    PublicCase(
        "B040",
        "the system message is the oldest, and so the first to go for the budget",
        token_settings(25),
        "S:5 U1:6 A1:6 U2:6 A2:6 U3:6 A3:6",
        "S U3 A3",
    ),
    PublicCase("B041", "a window of three loses it after two turns", message_settings(3), "S U1 A1 U2 A2", "S U2 A2"),
    PublicCase("B043", "one that comes late stands where it came", ROOMY, "U1 A1 S U2", "S U1 A1 U2"),
    PublicCase("B044", "each run leaves another one", ROOMY, "S1 U1 A1 S1 U2 A2 S2 U3", "S2 U1 A1 U2 A2 U3"),
    PublicCase("B046", "an empty list raises", message_settings(5), "", ""),
    PublicCase("B047", "a system message alone raises", message_settings(1), "S", "S"),
)
FIRST_ROLE: Final = (
    PublicCase(
        "B049",
        "the window opens with an answer",
        message_settings(3, unit="turn"),
        "U1 A1 U2 A2",
        "U2 A2",
    ),
    PublicCase(
        "B050",
        "a cut inside a turn leaves an answer without its question",
        message_settings(5, unit="turn"),
        "U1 C(a) R(a) A1 U2 A2",
        "U2 A2",
    ),
)
OVERSIZE: Final = (
    PublicCase("B052", "nothing fits, and nobody is told", token_settings(8), "S:1 U:30", "S", oversize=True),
    PublicCase("B052 keep", "the same, over budget", _keeping(token_settings(8)), "S:1 U:30", "S U"),
    PublicCase(
        "B053",
        "the message that tips the budget stays: an old, huge one",
        token_settings(23),
        "U1:200 A:2 U2:2",
        "A U2",
        oversize=True,
    ),
    PublicCase(
        "B055",
        "what each message costs at least is above the limit: a loop without end",
        _keeping(token_settings(6)),
        "U1:5 A:5 U2:7",
        "U2",
    ),
    PublicCase(
        "B058",
        "a little too much, and every old message is cut short",
        token_settings(63),
        "U1:25 A:25 U2:12",
        "A U2",
    ),
    PublicCase(
        "B059",
        "a first message that is too long is gone without a sign",
        token_settings(43),
        "U1:100 A:2 U2:4",
        "A U2",
        oversize=True,
    ),
)
COUNTING: Final = (
    PublicCase(
        "B065",
        "after each restart what had left is back",
        message_settings(3),
        "U1 A1 U2 A2 U3 A3",
        "A2 U3 A3",
    ),
    PublicCase("B068", "the last N are the oldest N", message_settings(2), "U1 A1 U2 A2", "U2 A2"),
)
EMPTY: Final = (
    PublicCase("B079", "a call without text is left out, its result is not", ROOMY, "U C(a) R(a) A", "U C R A"),
)
IDS: Final = (
    PublicCase(
        "B091",
        "ids begin at the same one in each answer: evicting the first exchange hits the second",
        message_settings(6),
        "U1 C1(a) R1(a) A1 U2 C2(a) R2(a) A2",
        "A1 U2 C2 R2 A2",
    ),
    PublicCase(
        "B092",
        "a later result with the same id counts for an earlier call",
        ROOMY,
        "U1 C1(a) U2 C2(a) R2(a) A2",
        "U1 C1 U2 C2 R2 A2",
    ),
    PublicCase("B094", "the call has no id, and the result names the tool", ROOMY, "U C(?) R(look) A", "U C A"),
    PublicCase("B094 neither", "neither has an id", ROOMY, "U C(?) R(?) A", "U C R A"),
    PublicCase(
        "B097",
        "an id is used again for another tool",
        message_settings(6),
        "S U1 C1(a) R1(a) A1 U2 C2(a) R2(a) A2 U3",
        "S U2 C2 R2 A2 U3",
    ),
)

BY_KIND: Final = {
    "tool pairing": TOOL_PAIRING,
    "parallel calls": PARALLEL,
    "unanswered calls": UNANSWERED,
    "interleaved": INTERLEAVED,
    "system message": SYSTEM,
    "first role": FIRST_ROLE,
    "oversize": OVERSIZE,
    "token accounting": COUNTING,
    "empty content": EMPTY,
    "ids": IDS,
}
CASES: Final = tuple(case for cases in BY_KIND.values() for case in cases)
