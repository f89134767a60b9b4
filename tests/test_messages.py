"""What a message is: immutable, validated where it is made, compared by value, silent about its text."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from chatmemory.errors import InvalidMessageError
from chatmemory.messages import (
    AssistantMessage,
    AudioPart,
    ContextMessage,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)

ODD_TEXTS = ["", "a\x00b", "\ud83d", "\ud83d\ude00", "\U0001f600", "e\u0301", "\ufeff", "x" * 10_000_000]
QUIET = "what was said"

ONE_OF_EACH: list[Message] = [
    SystemMessage(QUIET, role="developer", extra={"x": QUIET}),
    UserMessage(
        (
            TextPart(QUIET, extra={"x": QUIET}),
            ImagePart(QUIET, detail="low"),
            AudioPart(QUIET, format="wav"),
            FilePart(data=QUIET, filename=QUIET),
            OpaquePart({"type": "x", "y": QUIET}),
        ),
        name="ada",
    ),
    AssistantMessage(
        (ReasoningPart(QUIET, signature=QUIET),),
        tool_calls=(ToolCall("c1", "f", QUIET, extra={"index": 0}),),
        refusal=QUIET,
    ),
    ToolMessage(QUIET, tool_call_id="c1", is_error=True),
    ContextMessage(QUIET),
]


def named(message: Message) -> str:
    """A test's name for a message."""
    return type(message).__name__


@pytest.mark.parametrize("message", ONE_OF_EACH, ids=named)
def test_messages_are_values(message: Message) -> None:
    """Copies are equal, hash alike, and survive pickle and deep copies."""
    for twin in (copy.deepcopy(message), copy.copy(message), pickle.loads(pickle.dumps(message))):  # noqa: S301 - our own bytes
        assert message == twin
        assert hash(message) == hash(twin)
        assert message.extra == twin.extra
    assert len({*ONE_OF_EACH, copy.deepcopy(message)}) == len(ONE_OF_EACH)


@pytest.mark.parametrize("message", ONE_OF_EACH, ids=named)
def test_nobody_can_change_a_message(message: Message) -> None:
    """No field can be set (R12)."""
    for name in ("content", "name", "role", "tool_calls", "anything"):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(message, name, "changed")


@pytest.mark.parametrize("message", ONE_OF_EACH, ids=named)
def test_reprs_do_not_tell_the_text(message: Message) -> None:
    """A repr gives sizes and ids, never what was said, also inside parts and calls."""
    parts = message.content if isinstance(message.content, tuple) else ()
    for shown in (message, *parts, *message.tool_calls):
        assert QUIET not in repr(shown)
        assert type(shown).__name__ in repr(shown)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (UserMessage("a"), UserMessage("b")),
        (UserMessage("a"), AssistantMessage("a")),
        (UserMessage("a"), UserMessage("a", name="ada")),
        (UserMessage("a"), UserMessage("a", extra={"x": None})),
        (UserMessage("a"), UserMessage((TextPart("a"),))),
        (SystemMessage("a"), SystemMessage("a", role="developer")),
        (AssistantMessage(None), AssistantMessage("")),
        (AssistantMessage(None), AssistantMessage(())),
        (ToolMessage("r", tool_call_id=None), ToolMessage("r", tool_call_id="")),
        (ToolMessage("r", tool_call_id="a"), ToolMessage("r", tool_call_id="a", is_error=True)),
        (UserMessage("\ud83d\ude00"), UserMessage("\U0001f600")),
        (UserMessage("a", extra={"x": "\ud83d\ude00"}), UserMessage("a", extra={"x": "\U0001f600"})),
        (UserMessage("a", extra={"x": 1}), UserMessage("a", extra={"x": True})),
        (UserMessage("a", extra={"x": "e\u0301"}), UserMessage("a", extra={"x": "\u00e9"})),
    ],
)
def test_what_makes_messages_different(one: Message, other: Message) -> None:
    """Every field counts, with null, empty and look-alike values told apart."""
    assert one != other


def test_the_order_of_keys_makes_no_difference() -> None:
    """Two `extra` with the same fields are equal, and so are their hashes."""
    one, other = UserMessage("a", extra={"x": 1, "y": [2]}), UserMessage("a", extra={"y": [2], "x": 1})
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_odd_texts_are_kept(text: str) -> None:
    """Every code point is kept one by one: NUL, lone halves of a pair, a pair held apart, 10 MB."""
    message = AssistantMessage(
        (TextPart(text), OpaquePart({"type": "x", "y": text})),
        tool_calls=(ToolCall(text, text, text),),
        extra={"x": [text], text: 1},
    )
    twin = pickle.loads(pickle.dumps(message))  # noqa: S301 - our own bytes
    assert text == twin.text
    assert {"x": [text], text: 1} == twin.extra
    assert {"type": "x", "y": text} == twin.content[1].data
    assert (text, text, text) == (twin.tool_calls[0].id, twin.tool_calls[0].name, twin.tool_calls[0].arguments)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("hi", UserMessage("hi")),
        ("ab", UserMessage((TextPart("a"), ImagePart("u"), TextPart("b")))),
        ("", AssistantMessage(None)),
        ("", UserMessage(())),
        ("a", AssistantMessage((ReasoningPart("hm"), TextPart("a")))),
    ],
)
def test_text(expected: str, message: Message) -> None:
    """The text is that of the text parts, joined; there is always one."""
    assert expected == message.text


def test_lists_become_tuples() -> None:
    """Lists given as content and as calls are copied; strings among parts are text."""
    content: list[Any] = ["a", TextPart("b")]
    calls: Any = [ToolCall("c1", "f")]
    message = AssistantMessage(content, tool_calls=calls)
    content.clear()
    calls.clear()
    assert (TextPart("a"), TextPart("b")) == message.content
    assert (ToolCall("c1", "f"),) == message.tool_calls


def test_extra_is_given_out_as_copies() -> None:
    """Neither the dict that was given nor one that was handed out is the stored one (R12)."""
    extra = {"x": {"deep": [1]}}
    message = UserMessage((TextPart("a", extra=extra), OpaquePart({"type": "y", "z": extra})), extra=extra)
    extra["x"]["deep"].append(2)
    message.extra["x"]["deep"].append(3)
    assert isinstance(message.content, tuple)
    text, opaque = message.content
    assert isinstance(text, TextPart)
    assert isinstance(opaque, OpaquePart)
    assert {"x": {"deep": [1]}} == message.extra == text.extra
    assert {"type": "y", "z": {"x": {"deep": [1]}}} == opaque.data


def test_only_assistants_call() -> None:
    """Every message has `tool_calls`; all but an assistant's are empty."""
    assert [0, 0, 1, 0, 0] == [len(message.tool_calls) for message in ONE_OF_EACH]


@pytest.mark.parametrize("arguments", ["[1]", "5", "null", "{", "not json", "[" * 200_000])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """Whatever a model wrote as arguments is kept; parsing what is no JSON object raises and does not quote it."""
    call = ToolCall("c1", "f", arguments)
    assert arguments == call.arguments
    with pytest.raises(InvalidMessageError, match="arguments of a call to 'f' are no JSON object") as caught:
        call.parse()
    assert isinstance(caught.value, ValueError)
    assert None is caught.value.__context__


@pytest.mark.parametrize(("expected", "arguments"), [({}, ""), ({}, "{}"), ({"a": [1]}, '{"a": [1]}')])
def test_arguments_that_are_an_object(expected: dict[str, Any], arguments: str) -> None:
    """Arguments are parsed on demand; none at all are an empty dict."""
    assert expected == ToolCall("c1", "f", arguments).parse()


def wrong(path: str, make: Any, *values: Any, **fields: Any) -> Any:
    """A construction that has to fail, with the path of the error."""
    return pytest.param(path, make, values, fields, id=f"{make.__name__}-{path}")


@pytest.mark.parametrize(
    ("path", "make", "values", "fields"),
    [
        wrong("content", UserMessage, None),
        wrong("content", SystemMessage, None),
        wrong("content", ContextMessage, None),
        wrong("content", UserMessage, 5),
        wrong("content", UserMessage, b"bytes"),
        wrong("content", UserMessage, {"text": "hi"}),
        wrong("content[1]", UserMessage, ["a", 5]),
        wrong("content[0]", UserMessage, [{"type": "text", "text": "hi"}]),
        wrong("name", UserMessage, "a", name=5),
        wrong("role", SystemMessage, "a", role="user"),
        wrong("role", ToolMessage, "a", tool_call_id="c", role="user"),
        wrong("refusal", AssistantMessage, refusal=5),
        wrong("tool_calls", AssistantMessage, tool_calls="f"),
        wrong("tool_calls[1]", AssistantMessage, tool_calls=[ToolCall("a", "f"), {}]),
        wrong("tool_call_id", ToolMessage, "a", tool_call_id=5),
        wrong("is_error", ToolMessage, "a", tool_call_id="c", is_error=1),
        wrong("id", ToolCall, 5, "f"),
        wrong("name", ToolCall, "c", None),
        wrong("arguments", ToolCall, "c", "f", {}),
        wrong("type", ToolCall, "c", "f", type="other"),
        wrong("text", TextPart, None),
        wrong("url", ImagePart, 5),
        wrong("detail", ImagePart, "u", detail=5),
        wrong("format", AudioPart, "d", format=None),
        wrong("file_id", FilePart, file_id=5),
        wrong("type", ReasoningPart, "t", type="other"),
        wrong("data", OpaquePart, "text"),
        wrong("data.x[0]", OpaquePart, {"x": [object()]}),
        wrong("extra", UserMessage, "a", extra=[1]),
        wrong("extra.x", UserMessage, "a", extra={"x": {1, 2}}),
        wrong("extra.x[1]", UserMessage, "a", extra={"x": [1, float("inf")]}),
        wrong("extra", UserMessage, "a", extra={5: 1}),
        wrong("extra", TextPart, "a", extra="x"),
        wrong("extra.x", ToolCall, "c", "f", extra={"x": 10**5000}),
    ],
)
def test_wrong_values_are_refused_where_they_are_made(path: str, make: Any, values: Any, fields: Any) -> None:
    """The error is a ValueError that names the field and says what to give."""
    with pytest.raises(InvalidMessageError) as caught:
        make(*values, **fields)
    assert path == caught.value.path
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith(f"{path} ")


def test_errors_travel() -> None:
    """An error keeps its path through pickle, and takes one in front of it."""
    error = InvalidMessageError("content[1]", "is wrong").under("messages[3]")
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert ("messages[3].content[1]", "is wrong") == (twin.path, twin.problem)
    assert "messages[3].content[1] is wrong" == str(twin)
    assert "messages[3]" == InvalidMessageError("", "is wrong").under("messages[3]").path


@given(st.dictionaries(st.text(), st.text(st.characters(exclude_categories=())) | st.integers(), max_size=4))
def test_extra_is_lossless(extra: dict[str, Any]) -> None:
    """Whatever JSON is kept comes back as it was, and makes equal messages."""
    message = UserMessage("a", extra=extra)
    assert extra == message.extra
    assert message == UserMessage("a", extra=dict(reversed(extra.items())))
