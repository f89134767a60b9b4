"""Message ↔ stored text: nothing is lost, what cannot be read says so, and old text stays readable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatmemory.codec import decode_message, encode_message
from chatmemory.errors import CorruptedConversationError
from chatmemory.frozen_json import dump_json
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
from chatmemory.testing.generators import ODD_TEXTS, messages, texts

PAYLOADS = Path(__file__).parent / "stores" / "payloads"

# What tests/stores/payloads/version_1.jsonl was written from, line by line.
VERSION_1: list[Message] = [
    SystemMessage("You are kind."),
    SystemMessage("Be brief.", role="developer", name="ops"),
    UserMessage("Where is my parcel?"),
    UserMessage('naïve 日本 😀 \ud83d \ud83d\ude00 \\ud83d \0 \\ "'),
    UserMessage(
        [
            TextPart("look", extra={"cache_control": {"type": "ephemeral"}}),
            ImagePart("https://example.org/p.png", detail="low"),
            AudioPart("UklGRg==", format="wav"),
            FilePart(file_id="file-1"),
            FilePart(data="JVBERi0=", filename="a.pdf"),
            OpaquePart({"type": "novel", "z": 1, "a": [1.0, 10**30, None, True]}),
        ],
        name="ann",
    ),
    AssistantMessage(None, tool_calls=[ToolCall("call_1", "track", '{"parcel": 7}'), ToolCall(None, "track", "")]),
    AssistantMessage("", tool_calls=[ToolCall("", "sql", "SELECT 1", type="custom", extra={"index": 0})]),
    AssistantMessage(tool_calls=[ToolCall(None, "legacy", "{}", type="function_call")]),
    AssistantMessage("No.", refusal="I cannot.", extra={"annotations": [], "audio": None}),
    AssistantMessage([ReasoningPart("hm", signature="c2ln", type="thinking"), ReasoningPart("so"), TextPart("Here.")]),
    AssistantMessage([]),
    ToolMessage("on its way", tool_call_id="call_1"),
    ToolMessage(None, tool_call_id=None, name="track", is_error=True),
    ToolMessage("", tool_call_id="", role="function", name="legacy"),
    ContextMessage("Earlier: a parcel was sent."),
]


@given(messages)
@example(UserMessage("\\\ud83d\ude00"))
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    """Decoding gives back every message, with the code points, the numbers and the order of keys that it had."""
    decoded = decode_message(encode_message(message))

    assert message == decoded
    assert type(message) is type(decoded)
    assert dump_json(message.extra) == dump_json(decoded.extra)
    assert encode_message(message) == encode_message(decoded)


@given(messages)
def test_stored_text_is_plain_utf8_without_nul(message: Message) -> None:
    """Every database can hold the text: it is valid UTF-8, on one line, and has no NUL."""
    text = encode_message(message)

    assert text == text.encode().decode()
    assert not {"\0", "\n"} & set(text)


@given(texts, texts)
def test_different_texts_are_stored_differently(one: str, other: str) -> None:
    """No two different strings share a stored form, so none can come back as the other."""
    assert (one == other) == (encode_message(UserMessage(one)) == encode_message(UserMessage(other)))


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_texts_survive_everywhere(text: str) -> None:
    """A string survives as content, name, id, arguments, key and value."""
    call = ToolCall(text, text, text, extra={text: text})
    message = AssistantMessage(text, name=text, tool_calls=[call], refusal=text, extra={text: [text]})

    assert message == decode_message(encode_message(message))


def test_order_of_keys_is_kept() -> None:
    """Opaque data keeps the order of its keys, at every depth."""
    data = {"z": {"b": 1, "a": 2}, "a": 1.0}

    part = decode_message(encode_message(UserMessage([OpaquePart(data)]))).content

    assert isinstance(part, tuple)
    assert isinstance(part[0], OpaquePart)
    assert '{"z":{"b":1,"a":2},"a":1.0}' == dump_json(part[0].data)


def test_payloads_of_version_1_are_readable() -> None:
    """What the first version of this library stored is read for ever."""
    lines = (PAYLOADS / "version_1.jsonl").read_bytes().decode().split("\n")[:-1]

    assert VERSION_1 == [decode_message(line) for line in lines]


def test_version_1_is_what_is_written_now() -> None:
    """A change of the stored form needs a new version; this fails where the form changed and the version did not."""
    lines = (PAYLOADS / "version_1.jsonl").read_bytes().decode().split("\n")[:-1]

    assert lines == [encode_message(message) for message in VERSION_1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "null",
        '"secret"',
        "[]",
        "{}",
        '{"role":"user","content":"secret"}',
        '{"v":0,"role":"user","content":"secret"}',
        '{"v":true,"role":"user","content":"secret"}',
        '{"v":"1","role":"user","content":"secret"}',
        '{"v":1,"content":"secret"}',
        '{"v":1,"role":"secret","content":"x"}',
        '{"v":1,"role":["user"],"content":"secret"}',
        '{"v":1,"role":"user"}',
        '{"v":1,"role":"user","content":"secret"',
        '{"v":1,"role":"user","content":"secret"}}',
        '{"v":1,"role":"user","content":"secret","secret":1}',
        '{"v":1,"role":"user","content":{"secret":1}}',
        '{"v":1,"role":"user","content":["secret"]}',
        '{"v":1,"role":"user","content":[{"part":"secret"}]}',
        '{"v":1,"role":"user","content":[{"part":"text"}]}',
        '{"v":1,"role":"user","content":[{"part":"text","text":7}]}',
        '{"v":1,"role":"user","content":"x","extra":{"secret":NaN}}',
        '{"v":1,"role":"user","content":"x","extra":{"secret":1e999}}',
        '{"v":1,"role":"user","content":"x","extra":"secret"}',
        '{"v":1,"role":"assistant","tool_calls":"secret"}',
        '{"v":1,"role":"assistant","tool_calls":[{"id":"secret"}]}',
        '{"v":1,"role":"tool","content":"x","is_error":"secret"}',
        '{"v":1,"role":"user","content":"\nsecret"}',
        '{"v":1,"role":"user","content":' + "[" * 100_000,
        '{"v":1,"role":"user","content":"x","extra":{"n":' + "7" * 5000 + "}}",
    ],
)
def test_what_is_no_payload_raises_and_quotes_nothing(text: str) -> None:
    """Text that this library did not write raises, and neither the error nor its chain holds any of it."""
    with pytest.raises(CorruptedConversationError) as caught:
        decode_message(text)

    assert "secret" not in str(caught.value)
    assert None is caught.value.__context__


def test_a_newer_payload_says_to_upgrade() -> None:
    """Text of a later version is not guessed at: the error says to upgrade."""
    with pytest.raises(CorruptedConversationError, match=r"version 2.*upgrade"):
        decode_message('{"v":2,"role":"user","content":"x"}')


@given(messages, st.data())
def test_a_text_changed_at_random_is_readable_or_corrupted(message: Message, data: st.DataObject) -> None:
    """After any change of a stored text, reading it gives a message or a `CorruptedConversationError`, nothing else."""
    text = encode_message(message)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 5, len(text))))
    changed = text[:start] + data.draw(st.text('{}[]",:\\ud83dnulltrue019.-eE', max_size=5)) + text[end:]

    try:
        decoded = decode_message(changed)
    except CorruptedConversationError:
        return
    assert decoded == decode_message(encode_message(decoded))


def test_plain_json_reads_the_text_too() -> None:
    """Other programs can read what is stored: it is ordinary JSON."""
    assert {"v": 1, "role": "user", "content": "é😀"} == json.loads(encode_message(UserMessage("é😀")))
