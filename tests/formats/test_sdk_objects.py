"""Objects of the real openai SDK are read as they come, alone and inside dicts."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from openai.lib._parsing._completions import parse_chat_completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessage
from openai.types.chat.chat_completion_audio import ChatCompletionAudio
from openai.types.chat.chat_completion_message_custom_tool_call import ChatCompletionMessageCustomToolCall, Custom
from openai.types.chat.chat_completion_message_function_tool_call import ChatCompletionMessageFunctionToolCall, Function
from pydantic import BaseModel

from chatmemory.errors import InvalidMessageError
from chatmemory.formats import check, from_openai, parse_message, to_openai, to_openai_message
from chatmemory.messages import AssistantMessage, Message, TextPart, ToolCall, UserMessage

CALL = ChatCompletionMessageFunctionToolCall(id="c1", type="function", function=Function(name="f", arguments="{}"))


def completion(**message: Any) -> ChatCompletion:
    """A completion as the client builds it from a response."""
    return ChatCompletion.model_validate(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant"} | message}],
        }
    )


def reply(**message: Any) -> ChatCompletionMessage:
    """The message of such a completion."""
    return completion(**message).choices[0].message


def test_a_reply_with_calls() -> None:
    """Calls of functions and of custom tools become calls, and go out as they came."""
    custom = ChatCompletionMessageCustomToolCall(id="c2", type="custom", custom=Custom(name="g", input="free"))
    message = parse_message(ChatCompletionMessage(role="assistant", content=None, tool_calls=[CALL, custom]))
    assert (ToolCall("c1", "f", "{}"), ToolCall("c2", "g", "free", type="custom")) == message.tool_calls
    assert [] == check(to_openai([message]))


def test_a_reply_with_a_refusal() -> None:
    """A refusal is kept as one."""
    assert AssistantMessage(refusal="I cannot.") == parse_message(reply(content=None, refusal="I cannot."))


def test_a_reply_with_fields_that_only_a_response_has() -> None:
    """Annotations and the sound of an audio answer are stored, and only the id of the sound goes out again."""
    annotation = {"type": "url_citation", "url_citation": {"end_index": 1, "start_index": 0, "title": "t", "url": "u"}}
    audio = {"id": "a1", "data": "d", "expires_at": 1, "transcript": "t"}
    message = parse_message(reply(content=None, refusal=None, annotations=[annotation], audio=audio, x_new={"y": [1]}))
    assert {"annotations": [annotation], "audio": audio, "x_new": {"y": [1]}} == message.extra
    assert {"role": "assistant", "content": None, "audio": {"id": "a1"}, "x_new": {"y": [1]}} == to_openai_message(
        message
    )


def test_fields_that_were_not_set_are_not_there() -> None:
    """A message built by hand has no fields besides those given."""
    assert {} == parse_message(ChatCompletionMessage(role="assistant", content="hi")).extra


class Weather(BaseModel):
    """What an application asks the model to answer with."""

    degrees: int


def test_a_parsed_reply() -> None:
    """A message of `client.chat.completions.parse` is read without a warning; what was parsed does not go out."""
    parsed = parse_chat_completion(
        response_format=Weather, chat_completion=completion(content='{"degrees": 3}'), input_tools=[]
    )
    message = parse_message(parsed.choices[0].message)
    assert {"degrees": 3} == message.extra["parsed"]
    assert {"role": "assistant", "content": '{"degrees": 3}'} == to_openai_message(message)


def test_objects_inside_dicts() -> None:
    """A dict may hold SDK objects at any depth."""
    audio = ChatCompletionAudio(id="a1", data="d", expires_at=1, transcript="t")
    message = parse_message({"role": "assistant", "content": None, "tool_calls": [CALL], "audio": audio})
    assert (ToolCall("c1", "f", "{}"),) == message.tool_calls
    assert "a1" == message.extra["audio"]["id"]


def test_a_list_of_dicts_and_objects() -> None:
    """A list may hold dicts, SDK objects and messages side by side."""
    expected: list[Message] = [UserMessage("q"), AssistantMessage("a"), UserMessage("q2")]
    assert expected == from_openai([{"role": "user", "content": "q"}, reply(content="a"), UserMessage("q2")])


def test_the_whole_completion() -> None:
    """Passing what surrounds the message says what to pass."""
    whole = completion(content="hi")
    with pytest.raises(InvalidMessageError, match=r"pass \.choices\[0\]\.message"):
        parse_message(whole)
    with pytest.raises(InvalidMessageError, match=r"pass its \.message"):
        parse_message(whole.choices[0])
    with pytest.raises(InvalidMessageError, match="give a list"):
        from_openai(whole)
    chunk = ChatCompletionChunk(id="x", object="chat.completion.chunk", created=1, model="m", choices=[])
    with pytest.raises(InvalidMessageError, match="put the pieces together"):
        parse_message(chunk)


class DefaultRole(BaseModel):
    """A message of an SDK that sets role and type in the class, where they count as unset."""

    role: str = "user"
    content: Any


class DefaultType(BaseModel):
    """A part of such an SDK."""

    type: str = "text"
    text: str


def test_defaults_that_say_what_an_object_is() -> None:
    """A role and a type that the class sets are read too."""
    expected = UserMessage((TextPart("hi"),))
    assert expected == parse_message(DefaultRole(content=[DefaultType(text="hi")]))


def test_an_object_that_cannot_be_dumped() -> None:
    """An SDK object with a value that is not JSON is refused with its path."""
    with pytest.raises(InvalidMessageError, match="model_dump") as caught:
        parse_message({"role": "user", "content": [DefaultRole(content=object())]}, "messages[2]")
    assert "messages[2].content[0]" == caught.value.path


def test_text_of_an_enum() -> None:
    """A role that is a member of an enum is its text."""

    class Role(enum.StrEnum):
        SYSTEM = "system"

    message = parse_message({"role": Role.SYSTEM, "content": "s"})
    assert str is type(message.role)
    assert "system" == message.role
