"""Properties of the OpenAI form: nothing is lost, what goes out is accepted, and inputs are never touched."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatmemory.formats import LIST_CODES, check, from_openai, to_openai, to_openai_message
from chatmemory.formats.no_result import NO_RESULT
from chatmemory.messages import Message
from tests.formats.conversations import any_texts, json_values, message_lists, plain_texts, wire_conversations

Wire = dict[str, Any]


@given(wire_conversations)
def test_valid_input_comes_back_as_it_was(conversation: list[Wire]) -> None:
    """What a provider accepts is read and written back without a change."""
    assert [] == check(conversation)
    assert conversation == to_openai(from_openai(conversation))


@given(wire_conversations)
def test_messages_survive_the_wire(conversation: list[Wire]) -> None:
    """Messages that were read are the same after they went out and came back."""
    messages = from_openai(conversation)
    assert messages == from_openai(to_openai(messages))


@given(wire_conversations)
def test_reading_never_changes_its_input(conversation: list[Wire]) -> None:
    """The caller's dicts are neither changed nor shared (R12)."""
    before = copy.deepcopy(conversation)
    messages = from_openai(conversation)
    assert before == conversation
    conversation[0].clear()
    assert before == to_openai(messages)


@given(message_lists())
def test_what_goes_out_is_accepted(messages: list[Message]) -> None:
    """Whatever ids, texts and missing results a list has, the request has nothing that the provider refuses."""
    wire = to_openai(messages)
    assert [] == check(wire)
    json.dumps(wire, ensure_ascii=False).encode()


@given(message_lists())
def test_writing_adds_only_marked_results(messages: list[Message]) -> None:
    """Each message goes out once; what is added besides is the marked result of a call without one (R13)."""
    wire = to_openai(messages)
    added = [item for item in wire if item["content"] == NO_RESULT]
    calls = sum(len(message.tool_calls) for message in messages)
    results = sum(message.role in ("tool", "function") for message in messages)
    assert calls - results == len(added)
    assert len(messages) == len(wire) - len(added)


@given(message_lists())
def test_writing_is_the_same_each_time(messages: list[Message]) -> None:
    """Equal messages give equal requests, also for ids and results that are made up."""
    assert to_openai(messages) == to_openai(copy.deepcopy(messages))


@given(message_lists(texts=plain_texts))
def test_a_second_trip_changes_nothing(messages: list[Message]) -> None:
    """What came back from the wire goes out as it went out before."""
    wire = to_openai(messages)
    assert wire == to_openai(from_openai(wire))


@given(wire_conversations)
def test_one_message_alone_is_written_as_in_a_list(conversation: list[Wire]) -> None:
    """Where a list needs nothing added, each message is written as it is alone."""
    messages = from_openai(conversation)
    assert to_openai(messages) == [to_openai_message(message) for message in messages]


@given(message_lists())
def test_messages_without_the_rules_of_a_list_have_no_result_out_of_place(messages: list[Message]) -> None:
    """Written one by one, a list has only the findings that its messages have, and calls that still wait."""
    in_place = from_openai(item for item in to_openai(messages) if item["content"] != NO_RESULT)
    codes = {finding.code for finding in check([to_openai_message(message) for message in in_place])}
    assert set() == codes & LIST_CODES - {"pending_call"}


garbage = st.recursive(
    json_values | st.binary(max_size=2) | st.floats() | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "id", "type", "function", "name", "text"])
            | st.integers()
            | any_texts,
            inner | st.sampled_from(["tool", "assistant", "user", "function", "text", "c1"]),
            max_size=6,
        )
    ),
    max_leaves=30,
)


@given(garbage | st.lists(garbage, max_size=4))
def test_checking_takes_anything(value: object) -> None:
    """Whatever is checked, there is an answer and no error, and whatever is no list of messages has a finding."""
    findings = check(value)
    assert findings or isinstance(value, list)
    assert findings == sorted(findings, key=lambda finding: -1 if finding.index is None else finding.index)
    for finding in findings:
        finding.message.encode()
