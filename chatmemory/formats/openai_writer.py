"""From messages to OpenAI's chat completions form.

Decides: what goes on the wire. A call without a result gets a marked synthetic one, each call an id that is one of its
own in its message, each result its place behind its call (R3, R13). An orphan or a duplicate is refused. `extra` is
given back without nulls and without fields that only a response has. Text that cannot be encoded is replaced.
https://platform.openai.com/docs/guides/function-calling
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from attrs import define, evolve, field

from chatmemory.core.entries import Entry
from chatmemory.errors import InvalidMessageError
from chatmemory.formats.call_ids import ids_of
from chatmemory.formats.context_text import fence
from chatmemory.formats.linking import OpenCalls
from chatmemory.formats.listing import check_list
from chatmemory.formats.no_result import NO_RESULT
from chatmemory.formats.openai_calls import is_legacy, write_calls
from chatmemory.formats.openai_parts import write_content
from chatmemory.formats.unicode_text import encodable
from chatmemory.formats.wire_fields import with_extra
from chatmemory.messages import AssistantMessage, ContextMessage, Message, TextPart, ToolMessage

WireMessage = dict[str, Any]

_WITHHELD: Final = ("annotations", "parsed", "role", "content", "name", "tool_calls", "function_call")
"""What only a response has, and what only the modelled fields may say."""


@define
class _Exchange:
    """A message that is no result, the ids of its calls on the wire, and their results in the order of arrival."""

    message: Message
    ids: Sequence[str]
    results: list[tuple[int, ToolMessage]] = field(factory=list)

    def wire(self) -> list[WireMessage]:
        answered = {position for position, _ in self.results}
        missing = [position for position in range(len(self.ids)) if position not in answered]
        return [
            _write(self.message, self.ids),
            *(self._result(position, message) for position, message in self.results),
            *(self._result(position, ToolMessage(NO_RESULT, tool_call_id=None)) for position in missing),
        ]

    def _result(self, position: int, message: ToolMessage) -> WireMessage:
        # The form follows the call: only a lone legacy call is answered by role "function".
        calls = self.message.tool_calls
        if is_legacy(calls):
            return _write_result(_as_text(message), {"role": "function", "name": message.name or calls[0].name})
        return _write_result(message, {"role": "tool", "tool_call_id": self.ids[position], **_name(message)})


def to_openai(messages: Iterable[Message | Entry]) -> list[WireMessage]:
    """Write messages, or a window, as the `messages` of a request to OpenAI's chat completions.

    A result stands directly behind its call (R3). A call without a result gets one that says that none was recorded,
    the same each time; `from_openai` leaves it out again (R13). A call without id, or with one that its message has
    already, gets an id made of its name and arguments, which stays the same when older messages leave.

    Returns:
        New dicts, which share nothing that can change with the messages.

    Raises:
        InvalidMessageError: A result answers no earlier call (an orphan), or one that has its result already (a
            duplicate), or an item is no message. The path is that of the item: ``messages[3].tool_call_id``.

    Example:
        >>> from chatmemory.messages import UserMessage
        >>> to_openai([UserMessage("Where is my parcel?")])
        [{'role': 'user', 'content': 'Where is my parcel?'}]
    """
    return [
        wire for exchange in _linked(check_list(messages, for_one="to_openai_message()")) for wire in exchange.wire()
    ]


def to_openai_message(message: Message) -> WireMessage:
    """Write one message, without the rules of a list: ids stay as they are, and nothing is added.

    Example:
        >>> from chatmemory.messages import AssistantMessage, ToolCall
        >>> to_openai_message(AssistantMessage("Hello"))
        {'role': 'assistant', 'content': 'Hello'}
    """
    if not isinstance(message, Message):
        raise InvalidMessageError("", f"is of type {type(message).__name__}; give a message, or a list to to_openai")
    if isinstance(message, ToolMessage):
        return _write_result(message, _result_fields(message))
    return _write(message, [call.id for call in message.tool_calls])


def _linked(messages: Iterable[Message | Entry]) -> list[_Exchange]:
    exchanges: list[_Exchange] = []
    open_calls = OpenCalls()
    for at, item in enumerate(messages):
        message = _message(item, at)
        if isinstance(message, ToolMessage):
            owner, position = _call_of(message, open_calls, at)
            exchanges[owner].results.append((position, message))
        else:
            open_calls.made(len(exchanges), (call.id for call in message.tool_calls))
            exchanges.append(_Exchange(message, ids_of(message.tool_calls)))
    return exchanges


def _message(item: Message | Entry, at: int) -> Message:
    message = item.message if isinstance(item, Entry) else item
    if not isinstance(message, Message):
        raise InvalidMessageError(
            f"messages[{at}]", f"is of type {type(item).__name__}; give messages, which from_openai makes of dicts"
        )
    return message


def _call_of(message: ToolMessage, open_calls: OpenCalls, at: int) -> tuple[int, int]:
    place = open_calls.answered(message.tool_call_id)
    if place is None:
        if open_calls.fault_of(message.tool_call_id) == "duplicate":
            problem = "answers a call that has its result already; leave one of them out"
        else:
            problem = "answers no call that stands before it; leave the result out, or add the call"
        raise InvalidMessageError(f"messages[{at}].tool_call_id", problem)
    return place


def _write(message: Message, ids: Sequence[str | None]) -> WireMessage:
    if isinstance(message, ContextMessage):
        modelled: WireMessage = {"role": "system", "content": fence(message.text)}
    else:
        modelled = {"role": message.role, "content": write_content(message.content)}
    modelled |= _name(message)
    extra = message.extra
    if isinstance(message, AssistantMessage):
        modelled |= _assistant_fields(message, ids, extra)
    return _on_wire(modelled, extra)


def _assistant_fields(message: AssistantMessage, ids: Sequence[str | None], extra: dict[str, Any]) -> WireMessage:
    """Return what only an assistant message has; without any of it, null as content would be refused."""
    fields: WireMessage = {} if message.refusal is None else {"refusal": message.refusal}
    fields |= write_calls(message.tool_calls, ids)
    audio = extra.pop("audio", None)
    if isinstance(audio, dict) and audio.get("id") is not None:
        fields["audio"] = {"id": audio["id"]}  # all that a request takes of a response's audio
    if message.content is None and not message.refusal and fields.keys() <= {"refusal"}:
        fields["content"] = ""
    return fields


def _as_text(message: ToolMessage) -> ToolMessage:
    """Return a result whose text parts are one text, which is all that role "function" takes."""
    if isinstance(message.content, tuple) and all(isinstance(part, TextPart) for part in message.content):
        return evolve(message, content=message.text)
    return message


def _result_fields(message: ToolMessage) -> WireMessage:
    linked = {} if message.tool_call_id is None else {"tool_call_id": message.tool_call_id}
    return {"role": message.role, **linked, **_name(message)}


def _write_result(message: ToolMessage, fields: WireMessage) -> WireMessage:
    content = write_content(message.content)
    return _on_wire({**fields, "content": "" if content is None else content}, message.extra)


def _name(message: Message) -> WireMessage:
    return {} if message.name is None else {"name": message.name}


def _on_wire(modelled: WireMessage, extra: dict[str, Any]) -> WireMessage:
    wire: WireMessage = encodable(with_extra(modelled, extra, withheld=_WITHHELD))
    return wire
