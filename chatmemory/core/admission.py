"""What happens to a window: a message comes in, the limit shrinks, the strategy has its say.

Decides: R1 (the limit is enforced after any plan), R2 (one system message), R3 (a result needs its call), R5 (the answer
may take its request's place), R6 (what does not fit beside what must stay). All is noted in a draft; an error leaves
nothing behind. Knows strategies by their protocol only.
"""

from __future__ import annotations

from attrs import evolve, frozen

from chatmemory.core.draft import Draft
from chatmemory.core.entries import Entry, Limit, OverflowPolicy, Reason
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
    if isinstance(message, SystemMessage):
        _admit_system(draft, message, counted)
    elif isinstance(message, ToolMessage):
        _admit_result(draft, message, counted)
    else:
        _let_in(draft, draft.enter(message, _exact(counted)), counted)
    settle(draft, strategy)


def shrink(draft: Draft, overflow: OverflowPolicy, what: str) -> None:
    """Let guarded units leave that no longer fit beside the system message: exchanges, oldest first, the request last.

    Raises:
        WindowOverflowError: What must stay is over the limit, and `overflow` is ``raise``; or the system message is
            alone over the limit, and `overflow` is not ``keep``.
    """
    if overflow == "keep":
        return
    _check_alone(draft.window, "the system message")
    while True:
        held = draft.window.held()
        must = draft.window.staying(held)
        if draft.window.fits(must):
            return
        if overflow == "raise":
            raise _overflow(draft.window, must, what)
        _remove(draft, (min(map(draft.window.unit_at, held), key=_first_to_go),), "oversize")


def settle(draft: Draft, strategy: WindowStrategy) -> None:
    """Carry out what `strategy` plans, and enforce the limit after it (R1)."""
    plan = strategy.plan(draft.window)
    if plan is not None:
        check(draft.window, plan)
        _carry_out(draft, plan)
    if draft.window.over_budget:
        _carry_out(draft, evict_oldest(draft.window))
    if draft.window.over_budget and draft.window.policy.overflow != "keep":
        # A plan may take out what made others free to leave; then they leave as after a smaller limit.
        shrink(draft, "evict", "the window")
        _carry_out(draft, evict_oldest(draft.window))


def _admit_system(draft: Draft, message: SystemMessage, counted: Counted) -> None:
    window, entry = draft.window, draft.enter(message, _exact(counted))
    if isinstance(counted, AtLeast):
        raise _overflow(window, Size(counted.tokens, 1), "the system message")
    if window.system_entry is not None:
        draft.leave((window.system_entry,), "replaced")
    draft.window = window.joined(entry)
    if draft.window.over_budget:
        shrink(draft, window.policy.overflow, "the system message")


def _admit_result(draft: Draft, message: ToolMessage, counted: Counted) -> None:
    calls, key = draft.window.calls, result_key(message)
    call = calls.nearest(key)
    entry = draft.enter(message, _exact(counted), call)
    if call is None:
        draft.leave((entry,), "duplicate" if key in calls.answered else "orphan")
        draft.window = draft.window.passing(entry.seq)
    else:
        _let_in(draft, entry, counted)


def _let_in(draft: Draft, entry: Entry, counted: Counted) -> None:
    draft.window = draft.window.joined(entry)
    if isinstance(counted, AtLeast):
        _does_not_fit(draft, extra=counted.tokens)
    elif draft.window.over_budget:
        _make_room(draft)


def _make_room(draft: Draft) -> None:
    window = draft.window
    held = window.held()
    must = window.staying(held)
    if window.fits(must):
        return
    request = _giving_way(window, held)
    if request is not None and window.fits(must.minus(request.size)):
        _remove(draft, (request,), "budget")
    else:
        _does_not_fit(draft)


def _giving_way(window: Window, held: dict[int, tuple[str, ...]]) -> Unit | None:
    # R5: only the answer may take the place of its request; R8: not where turns stay whole.
    answer = window.unit_at(window.arriving).message
    if window.policy.unit == "turn" or not isinstance(answer, AssistantMessage) or answer.tool_calls:
        return None
    return window.unit_at(window.marks.user) if held.get(window.marks.user) else None


def _does_not_fit(draft: Draft, *, extra: int = 0) -> None:
    window, overflow = draft.window, draft.window.policy.overflow
    unit = window.unit_at(window.arriving)
    if overflow == "raise":
        must = window.staying(window.held())
        raise _overflow(window, must.plus(Size(extra, 0)), f"the {unit.entries[-1].message.role} message")
    if overflow == "evict":
        draft.oversize = True
        _remove(draft, (unit,), "oversize")


def _check_alone(window: Window, what: str) -> None:
    if not window.fits(window.system_size):
        raise _overflow(window, window.system_size, what)


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
