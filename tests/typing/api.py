"""The types of the public API, as a caller sees them. Checked by the type checkers, never run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, assert_type

from openai import OpenAI
from openai.types.chat import ChatCompletionMessage
from sqlalchemy import Engine, MetaData

from chatmemory import (
    About,
    ApproximateCounter,
    AssistantMessage,
    Change,
    ChatMemory,
    ChatMemoryError,
    Entry,
    Guards,
    InvalidArgumentError,
    InvalidMessageError,
    Limit,
    Limits,
    Message,
    MessageWindowChatMemory,
    NotInHistoryError,
    Plan,
    Refusal,
    Removal,
    Selection,
    SlidingWindow,
    StoreError,
    SystemMessage,
    TiktokenCounter,
    TokenBudget,
    TokenCounter,
    TokenWindowChatMemory,
    ToolCall,
    ToolMessage,
    UserMessage,
    Window,
    WindowOverflowError,
    WindowStrategy,
    select_messages,
    to_openai,
    to_openai_message,
)
from chatmemory.core.units import Unit
from chatmemory.formats import Finding, check, from_openai
from chatmemory.stores import (
    ChatMemoryStore,
    ConversationInfo,
    Document,
    DocumentChatMemoryStore,
    Documents,
    InMemoryChatMemoryStore,
    PayloadCodec,
    SqlChatMemoryStore,
    VersionedDocuments,
    check_schema,
    schema_metadata,
    schema_revision,
    upgrade_schema,
)


class OwnCounter:
    """A counter of a user's own needs no base class."""

    name = "own"
    overhead = 0

    def count(self, message: Message) -> int:
        """Count characters."""
        return len(message.text)


class OwnStrategy:
    """A strategy of a user's own needs no base class."""

    name = "own"
    limits = Limits(max_messages=5)
    requires_llm = False
    overhead_tokens = 0

    def plan(self, window: Window) -> Plan | None:
        """Ask for the oldest."""
        allowed, refused = window.plan_removal(window.units())
        assert_type(allowed, tuple[Unit, ...])
        assert_type(refused, tuple[Refusal, ...])
        return Plan(allowed[:1], refused)


def making() -> None:
    """Memories, strategies, stores and counters fit together."""
    store: ChatMemoryStore = SqlChatMemoryStore("sqlite:///chat.db")
    counter: TokenCounter = OwnCounter()
    strategy: WindowStrategy = OwnStrategy()
    ChatMemory(strategy=strategy)
    ChatMemory("c", strategy=TokenBudget(10), store=store, counter=counter, guards=Guards.none(), overflow="keep")
    token: ChatMemory = TokenWindowChatMemory("c", max_tokens=8_000, evict_to=0.7, unit="turn", reserve_tokens=500)
    message: ChatMemory = MessageWindowChatMemory(max_messages=5, max_tokens=100, counter=ApproximateCounter())
    SlidingWindow(5, max_tokens=None, evict_to=3, count_system=False)
    TokenWindowChatMemory(max_tokens=5, counter=TiktokenCounter("o200k_base"), store=InMemoryChatMemoryStore())
    assert_type((token.id, message.id), tuple[str, str])


def wrong(memory: ChatMemory) -> None:
    """What the checkers refuse, so that it is not found out at run time only."""
    TokenWindowChatMemory("c", 8_000)  # type: ignore[call-arg]
    TokenWindowChatMemory("c")  # type: ignore[call-arg]
    TokenWindowChatMemory(7, max_tokens=5)  # type: ignore[arg-type]
    TokenWindowChatMemory(max_tokens=5, overflow="drop")  # type: ignore[arg-type]
    TokenWindowChatMemory(max_tokens=5, unit="turns")  # type: ignore[arg-type]
    MessageWindowChatMemory(max_messages=5, counter=len)  # type: ignore[arg-type]
    ToolMessage("r")  # type: ignore[call-arg]
    memory.extend(5)  # type: ignore[arg-type]
    memory.resize(5)  # type: ignore[call-arg]
    memory.version = 3  # type: ignore[misc]
    UserMessage("u").content = "v"  # type: ignore[misc]
    memory.window().version = 3  # type: ignore[misc]


def writing(memory: ChatMemory, reply: ChatCompletionMessage, mine: Iterator[Message]) -> None:
    """Every operation that changes something returns a Change."""
    assert_type(memory.add(UserMessage("u")), Change)
    assert_type(memory.add({"role": "user", "content": "u"}), Change)
    assert_type(memory.add(reply), Change)
    assert_type(memory.extend(mine), Change)
    assert_type(memory.extend([{"role": "user", "content": "u"}, reply, UserMessage("u")]), Change)
    assert_type(memory.extend(ToolMessage("r", tool_call_id=call.id) for call in reply.tool_calls or ()), Change)
    assert_type(memory.set([]), Change)
    assert_type(memory.clear(), Change)
    assert_type(memory.resize(max_tokens=5, max_messages=None), Change)
    assert_type(memory.redact(3), Change)
    assert_type(memory.redact(3, "[gone]"), Change)
    assert_type(memory.describe(title="t", meta={"plan": "pro"}), Change)
    assert_type(memory.refresh(), Window)
    assert_type(memory.delete(), bool)


def a_change(change: Change) -> None:
    """A Change and what it holds."""
    assert_type(change.version, int)
    assert_type(change.added, tuple[Entry, ...])
    assert_type(change.removed, tuple[Removal, ...])
    assert_type(change.refused, tuple[Refusal, ...])
    assert_type(change.tokens, int | None)
    assert_type(change.limit, Limit)
    assert_type(change.limit.tokens, int | None)
    assert_type(change.seq, int | None)
    assert_type(change.oversize, bool)
    assert_type(bool(change), bool)
    removal, refusal = change.removed[0], change.refused[0]
    assert_type((removal.seq, removal.entered, removal.left, removal.tokens), tuple[int, int, int, int | None])
    assert_type(refusal.guards, tuple[str, ...])
    budget: bool = removal.reason == "budget"
    assert_type(budget, bool)


def looking(memory: ChatMemory) -> None:
    """What a memory shows."""
    assert_type(memory.messages(), list[Message])
    assert_type(memory.history(after=5, limit=10), list[Entry])
    assert_type(memory.window_at(3), Window)
    assert_type(memory.tokens, int | None)
    assert_type(memory.system, SystemMessage | None)
    assert_type(memory.version, int)
    assert_type(memory.over_budget, bool)
    about = memory.about()
    assert_type(about, About)
    assert_type((about.owner, about.title, about.meta), tuple[str | None, str | None, dict[str, Any]])
    window = memory.window()
    entries: Sequence[Entry] = window
    assert_type(window, Window)
    assert_type(window[0], Entry)
    assert_type(window[1:], tuple[Entry, ...])
    assert_type([entry.message for entry in entries], list[Message])
    assert_type((window.version, window.tokens, window.limit), tuple[int, int | None, Limit])
    assert_type(window.system, SystemMessage | None)
    assert_type(window.over_budget, bool)
    assert_type(window.messages(), list[Message])


def an_entry(entry: Entry) -> None:
    """An entry of window or history."""
    assert_type((entry.seq, entry.message, entry.tokens), tuple[int, Message, int | None])
    assert_type(entry.added_at, datetime)
    assert_type(entry.kind, Literal["message", "summary", "notice", "stub"])
    assert_type((entry.origin_seq, entry.entered, entry.left), tuple[int | None, int, int | None])


def a_message(message: Message, call: ToolCall) -> None:
    """A message's fields."""
    assert_type(message.role, str)
    assert_type(message.text, str)
    assert_type(message.name, str | None)
    assert_type(message.tool_calls, tuple[ToolCall, ...])
    assert_type(message.extra, dict[str, Any])
    assert_type(call.id, str | None)
    assert_type(call.arguments, str)
    assert_type(call.parse(), dict[str, Any])
    assert_type(AssistantMessage(tool_calls=[call]).refusal, str | None)
    assert_type(ToolMessage("r", tool_call_id=None).is_error, bool)


def selecting(messages: list[Message], dicts: list[dict[str, Any]], replies: list[ChatCompletionMessage]) -> None:
    """A selection has the type of what was given."""
    assert_type(select_messages(messages, TokenBudget(5)), Selection[Message])
    assert_type(select_messages(dicts, SlidingWindow(5), max_tokens=9).messages, list[dict[str, Any]])
    assert_type(select_messages(iter(replies), SlidingWindow(5)).messages, list[ChatCompletionMessage])
    window = MessageWindowChatMemory(max_messages=5).window()
    assert_type(select_messages(window, TokenBudget(5)).messages, list[Message])
    assert_type(select_messages(window, TokenBudget(5)).removed, tuple[Removal, ...])


def formats(memory: ChatMemory, messages: list[Message], wire: list[dict[str, Any]]) -> None:
    """Converters take messages or a window, and give dicts."""
    assert_type(to_openai(memory.window()), list[dict[str, Any]])
    assert_type(to_openai(messages), list[dict[str, Any]])
    assert_type(to_openai_message(messages[0]), dict[str, Any])
    assert_type(from_openai(wire), list[Message])
    assert_type(check(wire, provider="openai"), list[Finding])


def errors() -> None:
    """Errors carry data."""
    try:
        TokenWindowChatMemory(max_tokens=5).add(UserMessage("u"))
    except InvalidMessageError as error:
        assert_type(error.path, str)
    except InvalidArgumentError as error:
        assert_type(error.field, str)
    except WindowOverflowError as error:
        assert_type((error.needed, error.allowed, error.measure), tuple[int, int, str])
    except StoreError as error:
        assert_type((error.outcome_unknown, error.transient), tuple[bool, bool])
    except NotInHistoryError as error:
        lookup: LookupError = error
        raise lookup from None
    except ChatMemoryError:
        raise


def stores(store: SqlChatMemoryStore) -> None:
    """A store is a context manager, lists conversations, and is what the protocol asks for."""
    with store as opened, InMemoryChatMemoryStore() as other:
        assert_type(opened, SqlChatMemoryStore)
        protocol: list[ChatMemoryStore] = [opened, other]
        assert_type(protocol[0].conversations(after="c", limit=5), list[ConversationInfo])
        assert_type(protocol[0].window_at("c", 3, owner="ann"), list[Entry])
        assert_type(protocol[0].delete("c", owner="ann"), bool)
        assert_type((opened.purge(limit=5), opened.reseal()), tuple[int, int])


class OwnCodec:
    """A codec of a user's own needs no base class."""

    key_id = "k"

    def encode(self, data: bytes) -> bytes:
        """Seal."""
        return data[::-1]

    def decode(self, data: bytes, key_id: str) -> bytes:
        """Open."""
        return data[::-1] if key_id == self.key_id else b""


def sql_stores(engine: Engine) -> None:
    """The settings of the SQL store, and its schema."""
    codec: PayloadCodec = OwnCodec()
    SqlChatMemoryStore(engine, retain="window", expire_after=timedelta(days=9), codec=codec, auto_upgrade=True)
    SqlChatMemoryStore(engine, retain="all")  # type: ignore[arg-type]
    assert_type(upgrade_schema(engine, partitions=8), str)
    assert_type(schema_revision("sqlite:///chat.db"), str | None)
    check_schema(engine)
    assert_type(schema_metadata(), MetaData)


def document_stores(plain: Documents, versioned: VersionedDocuments) -> None:
    """Either back end makes a store."""
    store: ChatMemoryStore = DocumentChatMemoryStore(plain, retain="window")
    TokenWindowChatMemory(max_tokens=5, store=store, owner="ann")
    DocumentChatMemoryStore(versioned)
    assert_type(versioned.get("k"), Document | None)
    assert_type(versioned.put("k", "text", expected=None), bool)


def the_example(client: OpenAI, memory: TokenWindowChatMemory) -> None:
    """What an application sends is what `to_openai` gives; the SDK's own types are narrower than dicts."""
    messages: Any = to_openai(memory.window())
    reply = client.chat.completions.create(model="m", messages=messages).choices[0].message
    memory.add(reply)
