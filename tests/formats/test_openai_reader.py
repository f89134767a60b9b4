"""Reading OpenAI's form: what each field becomes, what is kept, and what is refused with which path."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from chatmemory.errors import InvalidMessageError
from chatmemory.formats import from_openai, parse_message, to_openai, to_openai_message
from chatmemory.formats.context_text import fence
from chatmemory.formats.no_result import NO_RESULT
from chatmemory.messages import (
    AssistantMessage,
    AudioPart,
    ContextMessage,
    FilePart,
    ImagePart,
    OpaquePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)

Wire = dict[str, Any]


def call(**fields: Any) -> Wire:
    """A tool call, with other fields where the test needs them."""
    return {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}} | fields


def assistant(**fields: Any) -> Wire:
    """An assistant message without content, with other fields."""
    return {"role": "assistant", "content": None} | fields


def parts_of(wire: Wire) -> Any:
    """Read a user message of one part and return that part."""
    content = parse_message({"role": "user", "content": [wire]}).content
    assert isinstance(content, tuple)
    return content[0]


@pytest.mark.parametrize(
    ("expected", "wire"),
    [
        (SystemMessage("s"), {"role": "system", "content": "s"}),
        (SystemMessage("s", role="developer"), {"role": "developer", "content": "s"}),
        (UserMessage("u", name="ada"), {"role": "user", "content": "u", "name": "ada"}),
        (AssistantMessage("a"), {"role": "assistant", "content": "a"}),
        (AssistantMessage(refusal="no"), {"role": "assistant", "content": None, "refusal": "no"}),
        (ToolMessage("r", tool_call_id="c1"), {"role": "tool", "tool_call_id": "c1", "content": "r"}),
        (
            ToolMessage("r", tool_call_id="c1", name="f"),
            {"role": "tool", "tool_call_id": "c1", "content": "r", "name": "f"},
        ),
        (
            ToolMessage("r", tool_call_id="c1", is_error=True),
            {"role": "tool", "tool_call_id": "c1", "content": "r", "is_error": True},
        ),
        (
            ToolMessage("r", tool_call_id=None, name="f", role="function"),
            {"role": "function", "name": "f", "content": "r"},
        ),
    ],
)
def test_roles(expected: object, wire: Wire) -> None:
    """Each role becomes its class, with the fields that it has."""
    assert expected == parse_message(wire)


@pytest.mark.parametrize(
    ("expected", "wire"),
    [
        (TextPart("t"), {"type": "text", "text": "t"}),
        (TextPart("t"), {"text": "t"}),
        (ImagePart("u", detail="low"), {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}),
        (AudioPart("d", format="mp3"), {"type": "input_audio", "input_audio": {"data": "d", "format": "mp3"}}),
        (FilePart(file_id="f1"), {"type": "file", "file": {"file_id": "f1"}}),
        (FilePart(data="d", filename="n"), {"type": "file", "file": {"file_data": "d", "filename": "n"}}),
        (
            ReasoningPart("hm", signature="s", type="thinking"),
            {"type": "thinking", "thinking": "hm", "signature": "s"},
        ),
        (ReasoningPart("hm"), {"type": "reasoning", "text": "hm"}),
        (OpaquePart({"type": "reasoning", "summary": []}), {"type": "reasoning", "summary": []}),
        (OpaquePart({"type": "thinking", "thinking": [{}]}), {"type": "thinking", "thinking": [{}]}),
        (OpaquePart({"type": "redacted_thinking", "data": "x"}), {"type": "redacted_thinking", "data": "x"}),
        (OpaquePart({"type": "server_tool_use", "id": "s1"}), {"type": "server_tool_use", "id": "s1"}),
        (OpaquePart({"type": "video_url", "x": None}), {"type": "video_url", "x": None}),
    ],
)
def test_parts(expected: object, wire: Wire) -> None:
    """Each part type becomes its class; what is not modelled stays as it is."""
    assert expected == parts_of(wire)


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, None), ("", ""), ([], ()), (["plain"], (TextPart("plain"),))],
)
def test_content_that_is_empty_or_plain(content: object, expected: object) -> None:
    """An assistant's content may be null, empty text or an empty list, and each stays what it is."""
    assert expected == parse_message({"role": "assistant", "content": content}).content


def test_content_that_is_absent() -> None:
    """A message without the key has no content, as one with null."""
    assert AssistantMessage(tool_calls=[ToolCall("c1", "f", "{}")]) == parse_message(
        {"role": "assistant", "tool_calls": [call()]}
    )


@pytest.mark.parametrize("calls", [None, []])
def test_no_calls(calls: object) -> None:
    """Null and an empty list are no calls."""
    assert AssistantMessage("a") == parse_message({"role": "assistant", "content": "a", "tool_calls": calls})


@pytest.mark.parametrize(
    ("expected", "wire"),
    [
        (ToolCall("c1", "f", "{}"), call()),
        (ToolCall("c1", "f", "{}"), {"id": "c1", "function": {"name": "f", "arguments": "{}"}}),
        (ToolCall("c1", "f", "{}"), call(type=None)),
        (ToolCall(None, "f", "{}"), call(id=None)),
        (ToolCall("", "f", "{}"), call(id="")),
        (ToolCall("c1", "f", ""), call(function={"name": "f", "arguments": None})),
        (ToolCall("c1", "f", "no json"), call(function={"name": "f", "arguments": "no json"})),
        (
            ToolCall("c1", "g", "free", type="custom"),
            {"id": "c1", "type": "custom", "custom": {"name": "g", "input": "free"}},
        ),
        (ToolCall("c1", "f", "{}", extra={"type": "builtin_function"}), call(type="builtin_function")),
    ],
)
def test_calls(expected: ToolCall, wire: Wire) -> None:
    """Each form of a call is read; a missing type is a function, and arguments are never parsed."""
    assert (expected,) == parse_message(assistant(tool_calls=[wire])).tool_calls


def test_a_legacy_call() -> None:
    """A `function_call` is one call without id."""
    wire = assistant(function_call={"name": "f", "arguments": "{}"})
    assert (ToolCall(None, "f", "{}", type="function_call"),) == parse_message(wire).tool_calls


def test_a_blank_legacy_call_is_none() -> None:
    """A `function_call` without name and arguments, which some servers always send, is kept and is no call."""
    message = parse_message({"role": "assistant", "content": "a", "function_call": {"name": "", "arguments": ""}})
    assert () == message.tool_calls
    assert {"function_call": {"name": "", "arguments": ""}} == message.extra
    assert {"role": "assistant", "content": "a"} == to_openai_message(message)


def test_what_is_not_modelled_is_kept_where_it_was() -> None:
    """Unknown fields of a message, a call, its function, a part and the object inside it are all stored."""
    message = parse_message(
        {
            "role": "assistant",
            "content": [{"type": "image_url", "image_url": {"url": "u", "foo": 1}, "cache_control": {"type": "e"}}],
            "tool_calls": [call(index=0, function={"name": "f", "arguments": "{}", "strict": True})],
            "reasoning": None,
            "annotations": [{"a": [1]}],
        }
    )
    assert {"reasoning": None, "annotations": [{"a": [1]}]} == message.extra
    assert {"index": 0, "function": {"strict": True}} == message.tool_calls[0].extra
    assert isinstance(message.content, tuple)
    part = message.content[0]
    assert isinstance(part, ImagePart)
    assert {"cache_control": {"type": "e"}, "image_url": {"foo": 1}} == part.extra


def test_a_stored_copy_is_independent() -> None:
    """Changing the dict afterwards, however deep inside, changes no message (R12)."""
    wire: Wire = {"role": "assistant", "content": [{"type": "text", "text": "noted"}], "x": {"deep": [1]}}
    expected = parse_message(copy.deepcopy(wire))
    message = parse_message(wire)
    wire["content"][0]["text"] = "changed"
    wire["x"]["deep"].append(2)
    assert expected == message


def test_a_message_is_returned_as_it_is() -> None:
    """What is a message already is not copied."""
    message = UserMessage("hi")
    assert message is parse_message(message)
    assert [message] == from_openai((message,))


def test_messages_and_parts_inside_dicts() -> None:
    """A dict may hold our own parts and calls."""
    wire = assistant(content=[TextPart("t")], tool_calls=[ToolCall("c1", "f")])
    assert AssistantMessage((TextPart("t"),), tool_calls=(ToolCall("c1", "f"),)) == parse_message(wire)


def test_results_that_a_converter_made_are_left_out() -> None:
    """The marked result of a call without one is recognised and left out (R13)."""
    messages = [AssistantMessage(tool_calls=(ToolCall("c1", "f"),)), UserMessage("next")]
    assert 3 == len(to_openai(messages))
    assert messages == from_openai(to_openai(messages))
    assert [] == from_openai([{"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": NO_RESULT}]}])


def test_a_fenced_context_is_a_context_again() -> None:
    """A summary that comes back does not become the system message of the conversation (R2)."""
    context = ContextMessage("summary")
    assert [context] == from_openai(to_openai([context]))
    assert ContextMessage("summary") == parse_message({"role": "system", "content": fence("summary")})
    assert UserMessage(fence("summary")) == parse_message({"role": "user", "content": fence("summary")})


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("role", {"content": "hi"}),
        ("role", {"role": "bot", "content": "hi"}),
        ("role", {"role": None, "content": "hi"}),
        ("role", {"role": ["user"], "content": "hi"}),
        ("content", {"role": "user"}),
        ("content", {"role": "user", "content": None}),
        ("content", {"role": "system", "content": None}),
        ("content", {"role": "assistant", "content": {"text": "hi"}}),
        ("content", {"role": "user", "content": 5}),
        ("name", {"role": "user", "content": "hi", "name": 5}),
        ("refusal", assistant(refusal=["no"])),
        ("tool_call_id", {"role": "tool", "content": "r", "tool_call_id": 5}),
        ("is_error", {"role": "tool", "content": "r", "tool_call_id": "c1", "is_error": "yes"}),
        ("tool_calls", {"role": "user", "content": "hi", "tool_calls": [call()]}),
        ("function_call", {"role": "tool", "content": "r", "function_call": {"name": "f"}}),
        ("tool_calls", assistant(tool_calls={"id": "c1"})),
        ("tool_calls[0]", assistant(tool_calls=["c1"])),
        ("tool_calls[1].id", assistant(tool_calls=[call(), call(id=5)])),
        ("tool_calls[0].type", assistant(tool_calls=[call(type=5)])),
        ("tool_calls[0].function", assistant(tool_calls=[{"id": "c1", "type": "function"}])),
        ("tool_calls[0].function", assistant(tool_calls=[{"name": "f", "args": {}, "id": "c1", "type": "tool_call"}])),
        ("tool_calls[0].function.name", assistant(tool_calls=[call(function={"arguments": "{}"})])),
        ("tool_calls[0].function.arguments", assistant(tool_calls=[call(function={"name": "f", "arguments": {}})])),
        ("tool_calls[0].function.arguments", assistant(tool_calls=[call(function={"name": "f", "arguments": 5})])),
        ("tool_calls[0].custom", assistant(tool_calls=[call(type="custom")])),
        ("tool_calls[0].custom.input", assistant(tool_calls=[call(type="custom", custom={"name": "g"})])),
        ("function_call", assistant(function_call="f")),
        ("function_call.name", assistant(function_call={"arguments": "{}"})),
        ("function_call", assistant(tool_calls=[call()], function_call={"name": "f", "arguments": "{}"})),
        ("content[1]", {"role": "user", "content": ["a", 5]}),
        ("content[1].type", {"role": "user", "content": ["a", {"type": 5}]}),
        ("content[1].type", {"role": "user", "content": ["a", {"data": "d"}]}),
        ("content[0].text", {"role": "user", "content": [{"type": "text"}]}),
        ("content[1].image_url", {"role": "user", "content": ["a", {"type": "image_url", "image_url": "https://x"}]}),
        ("content[0].image_url.url", {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}),
        (
            "content[0].image_url.detail",
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u", "detail": 1}}]},
        ),
        (
            "content[0].input_audio.format",
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "d"}}]},
        ),
        ("content[0].file", {"role": "user", "content": [{"type": "file", "file_id": "f1"}]}),
        ("content[0].file.file_id", {"role": "user", "content": [{"type": "file", "file": {"file_id": 1}}]}),
        ("x.y[1]", {"role": "user", "content": "hi", "x": {"y": [1, b"bytes"]}}),
        ("x", {"role": "user", "content": "hi", "x": float("nan")}),
        ("content[0].z", {"role": "user", "content": [{"type": "text", "text": "t", "z": {1}}]}),
    ],
)
def test_wrong_input_names_its_path(path: str, wire: Wire) -> None:
    """What is wrong is refused with its path, alone and in a list, and the dict is as it was."""
    before = copy.deepcopy(wire)
    with pytest.raises(InvalidMessageError) as alone:
        parse_message(wire)
    with pytest.raises(InvalidMessageError) as in_list:
        from_openai([{"role": "user", "content": "first"}, wire])
    assert path == alone.value.path
    assert f"messages[1].{path}" == in_list.value.path
    assert repr(before) == repr(wire)


@pytest.mark.parametrize("value", [None, "hello", b"hello", 5, ["role", "user"], object()])
def test_what_is_no_message_at_all(value: object) -> None:
    """The error names the type and what to give, and where it stood."""
    with pytest.raises(InvalidMessageError, match=f"type {type(value).__name__}; give a message") as caught:
        parse_message(value, "messages[7]")
    assert "messages[7]" == caught.value.path


@pytest.mark.parametrize("value", [None, "hello", 5, {"messages": []}, UserMessage("hi")])
def test_what_is_no_list(value: Any) -> None:
    """One message, a dict or a text is no list of messages."""
    with pytest.raises(InvalidMessageError, match="give a list"):
        from_openai(value)


def test_what_is_nested_too_deeply() -> None:
    """A value that contains itself, or is nested more than 100 levels deep, is refused and breaks nothing."""
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(InvalidMessageError, match="100 levels"):
        parse_message({"role": "user", "content": "hi", "x": cycle})


def test_errors_never_quote_the_conversation() -> None:
    """A value that is refused does not stand in the error's text."""
    for wire in ({"role": "my secret", "content": ""}, assistant(tool_calls=[call(function={"name": ["my secret"]})])):
        with pytest.raises(InvalidMessageError) as caught:
            parse_message(wire)
        assert "secret" not in str(caught.value)
