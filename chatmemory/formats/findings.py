"""What `check` finds: the form of a finding, and every code that there is.

Decides: the codes and what each means. A code never changes its meaning. `LIST_CODES` are about how messages stand
together, which a memory answers for; the others are about one message alone, which is as its author wrote it. The
quoted texts are OpenAI's own, as its endpoint gives them with status 400.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from attrs import frozen

CODES: Final = MappingProxyType(
    {
        # How messages stand together.
        "not_a_list": "messages have to be a list",
        "empty_list": "\"Invalid 'messages': empty array. Expected an array with minimum length 1\"",
        "orphan_result": "\"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'\"",
        "duplicate_result": "\"Duplicate value for 'tool_call_id'\"",
        "misplaced_result": (
            "\"An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'\"; this result stands further behind"
        ),
        "pending_call": (
            "\"An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'\"; to_openai adds what is missing"
        ),
        "duplicate_id": "\"Duplicate value for 'tool_call_id'\" will be the answer to the results",
        # One message.
        "not_an_object": "a message has to be a dict; to_openai makes one of a message",
        "not_json": "the request cannot be written as JSON",
        "unencodable_text": "a lone surrogate cannot be encoded as UTF-8: the client fails before it sends anything",
        "wrong_role": '"Invalid value. Supported values are: system, developer, user, assistant, tool, function"',
        "wrong_name": "\"Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'\"",
        "missing_content": "\"Invalid value for 'content': expected a string, got null\"",
        "empty_content": '"empty array. Expected an array with minimum length 1"',
        "wrong_content": '"Invalid type. Expected a string or an array of objects"',
        "wrong_part": '"Missing required parameter", or one of the wrong type, in a content part',
        "unsupported_part": (
            "\"Invalid value. Supported values are 'text', …\"; images, audio and files stand in user messages, "
            "refusals in the assistant's"
        ),
        "empty_tool_calls": '"empty array. Expected an array with minimum length 1"',
        "wrong_tool_calls": "tool_calls are an array in an assistant's message",
        "wrong_call": '"Missing required parameter", or one of the wrong type, in a tool call',
        "wrong_call_name": "\"Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'\"",
        "wrong_arguments": "\"Invalid type for 'arguments': expected a string\"",
        "missing_id": '"Missing required parameter"',
        "empty_id": '"empty string. Expected a string with minimum length 1"',
        "wrong_id": '"Invalid type. Expected a string"',
    }
)
"""Each code, and what the provider says to it."""

LIST_CODES: Final = frozenset(
    {
        "not_a_list",
        "empty_list",
        "orphan_result",
        "duplicate_result",
        "misplaced_result",
        "pending_call",
        "duplicate_id",
    }
)
"""The codes about how messages stand together."""


@frozen
class Finding:
    """One thing in a list of wire messages that the provider would refuse.

    Attributes:
        code: What it is, one of `CODES`.
        index: Where in the list; None where the list as a whole is meant.
        message: The path, what is wrong there, and what the provider says to it. It never quotes the conversation.
    """

    code: str
    index: int | None
    message: str

    @classmethod
    def at(cls, code: str, index: int | None, path: str, problem: str) -> Finding:
        """Return a finding about `path` inside the message at `index`."""
        where = "messages" if index is None else f"messages[{index}]{'.' if path else ''}{path}"
        return cls(code, index, f"{where} {problem}: {CODES[code]}")
