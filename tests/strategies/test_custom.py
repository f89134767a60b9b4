"""A strategy that a user wrote: twenty lines, and every rule of the window still holds."""

from __future__ import annotations

from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from chatmemory import ChatMemory, Limits, Message, Plan, Window, WindowStrategy
from chatmemory.messages import AssistantMessage
from tests.conversations import SizeCounter, conversations
from tests.core.building import messages, shown
from tests.oracle import check_window


@frozen
class ToolsFirst:
    """Lets exchanges with tools leave before anything else, once more than two thirds of the limit are used."""

    max_tokens: int
    name: str = "tools first"
    requires_llm: bool = False
    overhead_tokens: int = 0

    @property
    def limits(self) -> Limits:
        """The token limit."""
        return Limits(max_tokens=self.max_tokens)

    def plan(self, window: Window) -> Plan | None:
        """Ask for the exchanges that may leave."""
        if (window.tokens or 0) * 3 <= self.max_tokens * 2:
            return None
        exchanges = (unit for unit in window.units() if unit.message.tool_calls)
        return Plan(*window.plan_removal(exchanges))


def _memory(max_tokens: int) -> ChatMemory:
    return ChatMemory(strategy=ToolsFirst(max_tokens), counter=SizeCounter())


def test_a_plain_class_is_a_strategy() -> None:
    """What has the protocol's attributes is a strategy; nothing has to be inherited."""
    assert isinstance(ToolsFirst(100), WindowStrategy)


def test_it_decides_what_leaves() -> None:
    """What it asks for leaves, though older messages stay."""
    memory = _memory(60)
    memory.extend(messages("U1:10 C(a):10 R=a:10 A1:5"))
    assert "U1 C R A1" == shown(memory.window())
    memory.add(messages("U2:10")[0])
    assert "U1 A1 U2" == shown(memory.window())


def test_it_cannot_lose_what_is_held() -> None:
    """Guarded exchanges are refused by name and stay; the change names them."""
    memory = _memory(60)
    change = memory.extend(messages("U1:10 C(a,b):20 R=a:10"))
    assert "U1 C R" == shown(memory.window())
    assert [(2, ("pending_tool_call", "unseen_tool_result"))] == [(one.seq, one.guards) for one in change.refused]


def test_its_limit_is_enforced_whatever_it_plans() -> None:
    """Where nothing that it wants may leave, the oldest leave all the same (R1)."""
    memory = _memory(40)
    memory.extend(messages("U1:10 A1:10 U2:10 A2:10"))
    assert "A1 U2 A2" == shown(memory.window())


@given(conversations(), st.integers(2, 90))
def test_every_rule_holds_under_it(given_ones: list[Message], max_tokens: int) -> None:
    """Windows fit, are valid for a provider, and lose no current request but to an answer (R1, R3, R5)."""
    memory = _memory(max_tokens)
    for message in [one for one in given_ones if one.role not in ("system", "developer")]:
        users = [entry.seq for entry in memory.window() if entry.message.role == "user"]
        change = memory.add(message)
        assert [] == check_window(memory.messages())
        assert not memory.over_budget
        answers = isinstance(message, AssistantMessage) and not message.tool_calls
        lost = {removal.seq for removal in change.removed} & set(users[-1:])
        assert not lost or answers or (message.role == "user" and not change.oversize)
