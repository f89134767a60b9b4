"""What happens to a window: a message comes in, the limit shrinks, the strategy has its say.

Decides: R1 (the limit is enforced after any plan), R2 (one system message), R3 (a result needs its call), R5 (the
answer may take its request's place), R6 (what does not fit beside what must stay). All is noted in a draft; an error
leaves nothing behind. Knows strategies by their protocol only.
"""

from __future__ import annotations

from attrs import frozen

from chatmemory.core.draft import Draft
from chatmemory.core.entries import Entry, OverflowPolicy, Reason
from chatmemory.core.eviction import evict_oldest
from chatmemory.core.plan import Plan, WindowStrategy, check
from chatmemory.core.units import Size, Unit, result_key
from chatmemory.core.window import Window
from chatmemory.errors import WindowOverflowError
from chatmemory.messages import AssistantMessage, Message, SystemMessage, ToolMessage


@frozen
class AtLeast:
    """A lower bound of a message's tokens that shows already that it does not fit (R10)."""

    tokens: int


Counted = int | AtLeast | None
"""A message's tokens: counted, known to be too many, or not counted at all."""


def repeats_system(window: Window, message: Message) -> bool:
    """Whether `message` is the system message that is there already: such a message changes nothing (R2)."""
    system = window.system
    return isinstance(message, SystemMessage) and system is not None and system.text == message.text


def admit(draft: Draft, strategy: WindowStrategy, message: Message, counted: Counted) -> None:
    """Let `message` into the window of `draft`, and evict as its policy and `strategy` say.

    Raises:
        WindowOverflowError: It does not fit beside what must stay, and the policy is ``raise``; or it is a system
            message that is alone over the limit.
        IllegalPlanError: The strategy's plan breaks a rule.
    """
    if _comes_in(draft, message, counted):
        settle(draft, strategy)


def shrink(draft: Draft, overflow: OverflowPolicy, what: str) -> None:
    """Let guarded units leave that no longer fit beside the system message: exchanges, oldest first, the request last.

    Raises:
        WindowOverflowError: What must stay is over the limit, and `overflow` is ``raise``; or the system message is
            alone over the limit, and `overflow` is not ``keep``.
    """
    draft.window = window = draft.window.overflowing()
    if overflow == "keep":
        return
    if not window.fits(window.system_size):
        raise _overflow(window, window.system_size, "the system message")
    while not draft.window.fits(draft.window.staying()):
        if overflow == "raise":
            raise _overflow(draft.window, draft.window.staying(), what)
        held = map(draft.window.unit_at, draft.window.held)
        _remove(draft, (min(held, key=_first_to_go),), "oversize")


def settle(draft: Draft, strategy: WindowStrategy) -> None:
    """Carry out what `strategy` plans, and enforce the limit after it (R1)."""
    window, plan = draft.window, strategy.plan(draft.window)
    if plan is not None:
        check(window, plan)
        _carry_out(draft, plan)
    if draft.window.over_budget:
        # Turns are those of the window that was planned: what left does not open those that had to stay whole (R8).
        _carry_out(draft, evict_oldest(window, gone=plan.remove if plan else ()))


def _comes_in(draft: Draft, message: Message, counted: Counted) -> bool:
    if isinstance(message, SystemMessage):
        return _system_comes_in(draft, message, counted)
    if isinstance(message, ToolMessage):
        return _result_comes_in(draft, message, counted)
    return _finds_room(draft, draft.enter(message, _exact(counted)), counted)


def _system_comes_in(draft: Draft, message: SystemMessage, counted: Counted) -> bool:
    window, entry = draft.window, draft.enter(message, _exact(counted))
    if isinstance(counted, AtLeast):
        raise _overflow(window, Size(counted.tokens, 1), "the system message")
    if window.system_entry is not None:
        draft.leave((window.system_entry,), "replaced")
    draft.window = window.joined(entry)
    if draft.window.over_budget:
        shrink(draft, window.policy.overflow, "the system message")
    return True


def _result_comes_in(draft: Draft, message: ToolMessage, counted: Counted) -> bool:
    calls, key = draft.window.calls, result_key(message)
    call = calls.nearest(key)
    entry = draft.enter(message, _exact(counted), call)
    if call is not None:
        return _finds_room(draft, entry, counted)
    draft.leave((entry,), "duplicate" if key in calls.answered else "orphan")
    draft.window = draft.window.passing(entry.seq)
    return False


def _finds_room(draft: Draft, entry: Entry, counted: Counted) -> bool:
    before = draft.window
    draft.window = window = before.joined(entry)
    if isinstance(counted, AtLeast):
        return _does_not_fit(draft, before, window.staying().plus(Size(counted.tokens, 0)))
    if not window.over_budget:
        return True
    draft.window = window = window.overflowing()
    must = window.staying()
    if window.fits(must):
        return True
    request = _giving_way(window)
    if request is None or not window.fits(must.minus(request.size)):
        return _does_not_fit(draft, before, must)
    _remove(draft, (request,), "budget")
    return True


def _giving_way(window: Window) -> Unit | None:
    # R5: only the answer may take the place of its request; R8: not where turns stay whole.
    answer = window.unit_at(window.arriving).message
    if window.policy.unit == "turn" or not isinstance(answer, AssistantMessage) or answer.tool_calls:
        return None
    return window.unit_at(window.marks.user) if window.held.get(window.marks.user) else None


def _does_not_fit(draft: Draft, before: Window, must: Size) -> bool:
    window, overflow = draft.window, draft.window.policy.overflow
    unit = window.unit_at(window.arriving)
    if overflow == "raise":
        raise _overflow(window, must, f"the {unit.entries[-1].message.role} message")
    if overflow == "keep":
        return True
    if len(unit.entries) == 1:
        draft.leave(unit.entries, "oversize")
        draft.window = before.passing(unit.seq)
    else:
        _remove(draft, (unit,), "oversize")
    return False


def _overflow(window: Window, must: Size, what: str) -> WindowOverflowError:
    limit, cost = window.limit, must.tokens + window.policy.overhead
    if limit.tokens is not None and cost > limit.tokens:
        return WindowOverflowError(what, needed=cost, allowed=limit.tokens, measure="tokens")
    return WindowOverflowError(what, needed=window.count(must), allowed=limit.messages or 0, measure="messages")


def _first_to_go(unit: Unit) -> tuple[bool, int]:
    return not unit.message.tool_calls, unit.place


def _exact(counted: Counted) -> int | None:
    return counted if isinstance(counted, int) else None


def _carry_out(draft: Draft, plan: Plan) -> None:
    draft.refuse(plan.refused)
    _remove(draft, plan.remove, "budget")


def _remove(draft: Draft, units: tuple[Unit, ...], reason: Reason) -> None:
    for unit in units:
        draft.leave(unit.entries, reason)
    draft.window = draft.window.without(units)
