"""Wrong ways to do what the core does, to be planted there: each is one fault, and otherwise as the core is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from attrs import evolve

from chatmemory.core import admission, eviction, flow
from chatmemory.core.draft import Draft
from chatmemory.core.entries import Entry, Extent, Limit, Refusal, Snapshot
from chatmemory.core.guards import Landmarks
from chatmemory.core.plan import Plan
from chatmemory.core.session import Session
from chatmemory.core.units import Calls, Size, Unit, units_of
from chatmemory.core.window import Window
from chatmemory.messages import Message, ToolMessage

# What stands in the core while nothing is planted.
_fits, _without, _leave, _after = Window.fits, Window.without, Draft.leave, Landmarks.after
_evict_oldest, _turn_groups = eviction.evict_oldest, eviction._turn_groups  # noqa: SLF001
_onto, _result_comes_in = flow._Admitted.onto, admission._result_comes_in  # noqa: SLF001


def never(*_: object) -> bool:
    """Say no to everything."""
    return False


def nothing_held(_: Landmarks) -> tuple[int, ...]:
    """Hold no unit."""
    return ()


def abandon_nothing(marks: Landmarks, place: int, message: Message) -> Landmarks:
    """Let calls wait on, whatever comes after them."""
    after = _after(marks, place, message)
    return evolve(after, pending=tuple(dict.fromkeys((*marks.pending, *after.pending))))


def fits_off_by(more: int) -> Callable[..., bool]:
    """Fit, with every limit moved by so many."""

    def fits(window: Window, size: Size, limit: Limit | None = None) -> bool:
        limit = limit or window.limit
        moved = (None if one is None else one + more for one in (limit.tokens, limit.messages))
        return _fits(window, size, Limit(*moved))

    return fits


def fits_without_overhead(window: Window, size: Size, limit: Limit | None = None) -> bool:
    """Fit, the overhead of a request forgotten."""
    return _fits(evolve(window, policy=evolve(window.policy, overhead=0)), size, limit)


def fits_by_tokens_only(window: Window, size: Size, limit: Limit | None = None) -> bool:
    """Fit, whatever the number of messages."""
    return _fits(window, size, Limit(tokens=(limit or window.limit).tokens))


def count_with_system(_: Window, size: Size) -> int:
    """Count the system message too, always."""
    return size.messages


def adjacent_result_comes_in(draft: Draft, message: ToolMessage, counted: Any) -> bool:
    """Link a result to the unit right before it, or to none."""
    newest = list(draft.window.units())[-1:]
    if newest and newest[0].waits:
        return _result_comes_in(draft, message, counted)
    entry = draft.enter(message, None)
    draft.leave((entry,), "orphan")
    draft.window = draft.window.passing(entry.seq)
    return False


def oldest_call(calls: Calls, key: str) -> int | None:
    """Give a result to the oldest call of its id."""
    return calls.waiting.get(key, (None,))[0]


def answer_and_wait_on(calls: Calls, key: str) -> Calls:
    """Take a result, and go on waiting for it."""
    return Calls(calls.waiting, {**calls.answered, key: 1})


def answer_and_forget(calls: Calls, key: str) -> Calls:
    """Take a result, and forget that it came."""
    waiting = {one: places for one, places in calls.waiting.items() if one != key}
    rest = calls.waiting[key][:-1]
    return Calls({**waiting, **({key: rest} if rest else {})}, calls.answered)


def result_at_the_end(window: Window, entry: Entry) -> Window:
    """Put a result where any message goes."""
    entries = (*window.entries, evolve(entry, call_seq=None))
    return Window.of(Snapshot("", 1, entry.seq + 1, Extent(), entries), window.policy)


def limit_as_mark(window: Window, *_: object) -> Limit:
    """Never go below the limit."""
    return window.limit


def aim_as_mark(window: Window, evict_to: Any, main: str) -> Limit:
    """Go down to the aim, whatever must stay."""
    return window.limit if evict_to is None else eviction._wanted(window, evict_to, main)  # noqa: SLF001


def binary_share(share: float, limit: int | None, taken: int) -> int | None:
    """Take the share as the nearest binary fraction."""
    return None if limit is None else taken + max(1, int(share * (limit - taken)))


def share_of_the_limit(share: float, limit: int | None, _: int) -> int | None:
    """Take the share of the limit, the system message included."""
    return None if limit is None else max(1, round(share * limit))


def number_of_any_limit(window: Window, evict_to: Any, _: str) -> Limit:
    """Take a number as tokens, above the limit too."""
    return Limit(evict_to, window.limit.messages) if isinstance(evict_to, int) else window.limit


def evict_one_more(window: Window, *args: Any, **named: Any) -> Plan:
    """Evict one unit more than is needed."""
    planned = _evict_oldest(window, *args, **named)
    others = (unit for unit in window.units() if unit not in planned.remove and unit.place not in window.held)
    return Plan(
        (*planned.remove, *[unit for unit, _ in zip(others, planned.remove[:1], strict=False)]), planned.refused
    )


def evict_newest(window: Window, *args: Any, **named: Any) -> Plan:
    """Evict as many, from the newest."""
    planned = _evict_oldest(window, *args, **named)
    free = [unit for unit in window.units() if unit.place not in window.held]
    return Plan(tuple(free[-len(planned.remove) :]) if planned.remove else (), planned.refused)


def units_as_turns(window: Window) -> Iterator[tuple[Unit, ...]]:
    """Let units leave one by one, whatever turn they are in."""
    return ((unit,) for unit in window.units())


def opener_first(window: Window) -> Iterator[tuple[Unit, ...]]:
    """Let the last user message go before the rest of its turn."""
    groups = list(_turn_groups(window))
    return iter(sorted(groups, key=lambda group: group[0].place))


def everything_leaves(draft: Draft, *_: object) -> bool:
    """Empty the window for a message that does not fit."""
    for unit in draft.window.units():
        draft.leave(unit.entries, "oversize")
    draft.window = draft.window.without(list(draft.window.units()))
    return False


def gives_way_to_anything(window: Window) -> Unit | None:
    """Let the request give way to whatever arrives."""
    return window.unit_at(window.marks.user) if window.held.get(window.marks.user) else None


def gives_way_to_nothing(_: Window) -> None:
    """Never let the request give way."""
    return


def settle_for_the_plan(draft: Draft, strategy: Any) -> None:
    """Leave it at what the strategy asks for."""
    planned = strategy.plan(draft.window)
    if planned is not None:
        draft.window = draft.window.without(planned.remove)


def oldest_goes_first(unit: Unit) -> int:
    """Let the oldest held unit go first, the request too."""
    return unit.place


def everything_is_allowed(_: Window, wanted: Iterable[Unit]) -> tuple[tuple[Unit, ...], tuple[Refusal, ...]]:
    """Refuse nothing."""
    return tuple(wanted), ()


def nothing_is_checked(*_: object) -> None:
    """Do nothing."""
    return


def system_as_unit(window: Window) -> Iterator[Unit]:
    """Take the system message for a unit."""
    return units_of(window.entries, 0)


def without_and_look_again(window: Window, units: Any) -> Window:
    """Ask the guards again once something has left."""
    return evolve(_without(window, units), held=None)


def without_and_be_content(window: Window, units: Any) -> Window:
    """Stop evicting as soon as the window fits."""
    smaller = _without(window, units)
    return evolve(smaller, evicting=smaller.over_budget)


def without_but_remember(window: Window, units: Any) -> Window:
    """Go on measuring by messages that have left."""
    return evolve(_without(window, units), marks=window.marks)


def pass_and_keep_the_seq(window: Window, _: int) -> Window:
    """Let the next message have the seq of one that did not come in."""
    return evolve(window, arriving=0)


def leave_in_silence(draft: Draft, entries: Iterable[Entry], reason: Any) -> None:
    """Forget to write that an entry never got in."""
    written = dict(draft._written)  # noqa: SLF001 - the fault is that it stays as it was
    _leave(draft, entries, reason)
    draft._written.update(written)  # noqa: SLF001


def cut_one_too_far(seqs: list[int], next_seq: int) -> Extent:
    """Leave an entry out of the extent."""
    return Extent(next_seq, tuple(seqs[:-1]))


def any_number(_: int) -> int:
    """Allow any number of dead rows."""
    return 10**9


def onto_with_new_counts(admitted: Any, draft: Draft, skip: int = 0) -> Generator[Any, Any, Draft]:
    """Count all messages again at each try."""
    admitted.counted.clear()
    return (yield from _onto(admitted, draft, skip))


def find_out_nothing(session: Session, _: object) -> Generator[Any, Any, None]:
    """Forget a commit whose outcome is not known."""
    session.doubt = None
    yield from ()


def exact_ids_only(wire_id: str | None) -> str:
    """Tell a missing id from an empty one."""
    return "none" if wire_id is None else wire_id
