"""What `check` finds in raw lists: each code once, with the index it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory.errors import InvalidArgumentError
from chatmemory.formats import CODES, LIST_CODES, check
from chatmemory.messages import UserMessage

Wire = dict[str, Any]


def call(wire_id: object = "a", **fields: Any) -> Wire:
    """A call of a function, with other fields where the test needs them."""
    return {"id": wire_id, "type": "function", "function": {"name": "f", "arguments": "{}"}} | fields


def calls(*ids: object) -> Wire:
    """An assistant message that calls once for each id."""
    return {"role": "assistant", "content": None, "tool_calls": [call(wire_id) for wire_id in ids]}


def result(wire_id: object = "a", content: object = "r") -> Wire:
    """A tool's result."""
    return {"role": "tool", "tool_call_id": wire_id, "content": content}


def user(content: object = "u", **fields: Any) -> Wire:
    """A user message, with other fields."""
    return {"role": "user", "content": content} | fields


def answered(one: object) -> list[Wire]:
    """A message with one call, whatever it is, and a result of call ``a``."""
    return [{"role": "assistant", "content": None, "tool_calls": [one]}, result()]


CYCLE: list[object] = []
CYCLE.append(CYCLE)

FOUND: list[tuple[str, int | None, object]] = [
    ("not_a_list", None, "hello"),
    ("not_a_list", None, user()),
    ("empty_list", None, []),
    ("orphan_result", 0, [result()]),
    ("orphan_result", 1, [user(), result(None) | {"role": "function", "name": "f"}]),
    ("orphan_result", 0, [result(), calls("a"), result()]),
    ("duplicate_result", 2, [calls("a"), result(), result()]),
    ("misplaced_result", 2, [calls("a"), user(), result()]),
    ("misplaced_result", 2, [calls("a"), {"role": "system", "content": "s"}, result()]),
    ("misplaced_result", 3, [calls("a"), calls("b"), result("b"), result("a")]),
    ("pending_call", 0, [calls("a"), user()]),
    ("pending_call", 0, [calls("a", "b"), result("a")]),
    (
        "pending_call",
        1,
        [user(), {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}}],
    ),
    ("duplicate_id", 0, [calls("a", "a"), result("a"), result("a")]),
    ("not_an_object", 1, [user(), "hello"]),
    ("not_an_object", 0, [UserMessage("hi")]),
    ("not_json", 0, [user(x=object())]),
    ("not_json", 0, [user(x=float("nan"))]),
    ("not_json", 0, [user(x=10**5000)]),
    ("not_json", 0, [user(x={5: 1})]),
    ("not_json", 0, [user(x=CYCLE)]),
    ("unencodable_text", 0, [user("\ud83d")]),
    ("unencodable_text", 0, [user("\ud83d\ude00")]),
    ("unencodable_text", 0, [user(x={"y": ["\udc00"]})]),
    ("unencodable_text", 0, [user(**{"\udc00": 1})]),
    ("wrong_role", 0, [{"role": "bot", "content": "hi"}]),
    ("wrong_role", 0, [{"content": "hi"}]),
    ("wrong_role", 0, [{"role": ["user"], "content": "hi"}]),
    ("wrong_name", 0, [user(name="Ada Lovelace")]),
    ("wrong_name", 0, [user(name="")]),
    ("wrong_name", 0, [user(name="a\n")]),
    ("missing_content", 0, [user(None)]),
    ("missing_content", 0, [{"role": "system"}]),
    ("missing_content", 0, [{"role": "assistant", "content": None}]),
    ("missing_content", 1, [calls("a"), result(content=None)]),
    ("empty_content", 0, [user([])]),
    ("wrong_content", 0, [user({"text": "hi"})]),
    ("wrong_content", 0, [user(5)]),
    ("wrong_part", 0, [user(["hi"])]),
    ("wrong_part", 0, [user([{"text": "hi"}])]),
    ("wrong_part", 0, [user([{"type": "text"}])]),
    ("wrong_part", 0, [user([{"type": "image_url", "image_url": "https://x"}])]),
    ("wrong_part", 0, [user([{"type": "input_audio", "input_audio": {"data": "d"}}])]),
    ("wrong_part", 0, [user([{"type": "file", "file_id": "f1"}])]),
    ("unsupported_part", 0, [user([{"type": "thinking", "thinking": "hm"}])]),
    ("unsupported_part", 0, [{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}]),
    ("unsupported_part", 0, [{"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}]),
    ("unsupported_part", 1, [calls("a"), result(content=[{"type": "image_url", "image_url": {"url": "u"}}])]),
    ("empty_tool_calls", 0, [{"role": "assistant", "content": "hi", "tool_calls": []}]),
    ("wrong_tool_calls", 0, [{"role": "assistant", "content": "hi", "tool_calls": "f"}]),
    ("wrong_tool_calls", 0, [user(tool_calls=[call()])]),
    ("wrong_call", 0, answered({"id": "a", "function": {"name": "f", "arguments": "{}"}})),
    ("wrong_call", 0, answered({"id": "a", "type": "function"})),
    ("wrong_call_name", 0, answered(call(function={"name": "get weather", "arguments": "{}"}))),
    ("wrong_call_name", 0, answered(call(function={"name": "", "arguments": "{}"}))),
    ("wrong_arguments", 0, answered(call(function={"name": "f", "arguments": {}}))),
    ("wrong_arguments", 0, answered({"id": "a", "type": "custom", "custom": {"name": "g"}})),
]


@pytest.mark.parametrize(("code", "index", "wire"), FOUND)
def test_each_fault_is_found_once(code: str, index: int | None, wire: object) -> None:
    """One fault is one finding, at the message that the provider would name."""
    assert [(code, index)] == [(finding.code, finding.index) for finding in check(wire)]


@pytest.mark.parametrize(
    ("codes", "wire_id"),
    [(["missing_id", "missing_id"], None), (["empty_id", "empty_id"], ""), (["wrong_id", "wrong_id"], 5)],
)
def test_ids(codes: list[str], wire_id: object) -> None:
    """A call and a result without a proper id are found by that, and not as orphan and unanswered call besides."""
    assert codes == [finding.code for finding in check([calls(wire_id), result(wire_id)])]


def test_every_code_has_a_test() -> None:
    """The table above and the test of ids name every code that there is."""
    assert set(CODES) == {code for code, _, _ in FOUND} | {"missing_id", "empty_id", "wrong_id"}
    assert set(CODES) > LIST_CODES


@pytest.mark.parametrize(
    "wire",
    [
        [user()],
        [{"role": "developer", "content": [{"type": "text", "text": "s"}]}, user()],
        [user([{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": ""}])],
        [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
        [{"role": "assistant", "content": None, "refusal": "no"}],
        [{"role": "assistant", "content": ""}],
        [calls("a", "b"), result("b"), result("a")],
        [calls("a"), result(), calls("a"), result()],
        [{"role": "assistant", "tool_calls": [call()]}, result(content="")],
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": None},
        ],
        (user(timestamp="now", reasoning_content="hm"),),
        [user(x=[[1], {"y": 2}] * 2)],
    ],
)
def test_what_is_accepted(wire: object) -> None:
    """A proper list has no finding, also with fields that only compatible servers know."""
    assert [] == check(wire)


def test_findings_say_where_and_what() -> None:
    """A finding names the path and the provider's text, and quotes nothing of the conversation."""
    found = check([user(), {"role": "assistant", "content": "my secret", "tool_calls": [call(id=5)]}, result("other")])
    assert [("wrong_id", 1), ("pending_call", 1), ("orphan_result", 2)] == [(item.code, item.index) for item in found]
    assert found[0].message.startswith("messages[1].tool_calls[0].id is of type int: ")
    assert "must be a response to a preceeding message" in found[2].message
    assert not any("secret" in item.message for item in found)


def test_an_unknown_provider() -> None:
    """Rules that are not there are an error that names those that are."""
    with pytest.raises(InvalidArgumentError, match="'openai'") as caught:
        check([user()], provider="anthropic")
    assert "provider" == caught.value.field


def test_ten_thousand_results_with_one_id() -> None:
    """One message with as many calls has one finding for its ids, and each result too many has one."""
    wire = [calls(*["a"] * 10_000), *[result()] * 10_001]
    assert ["duplicate_id", "duplicate_result"] == [finding.code for finding in check(wire)]
    assert 20_000 == len(check([calls("a"), result(), *[result()] * 20_000]))


def test_depth_and_shared_values() -> None:
    """A value that doubles at every level is looked at once each, and depth is a finding."""
    value: list[object] = []
    for _ in range(90):
        value = [value, value]
    assert [] == check([user(x=value)])
    for _ in range(20):
        value = [value, value]
    assert ["not_json"] == [finding.code for finding in check([user(x=value)])]
