"""Eviction of the oldest (R4, R7, R8): which units leave so that a window comes down to a mark.

Decides: the mark, the order of leaving, and what is refused on the way. The planner uses it to enforce the limit after
any plan (R1), and so do the strategies that evict the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from chatmemory.core.entries import Limit, Refusal
from chatmemory.core.plan import Plan
from chatmemory.core.units import Size, Unit, units_of
from chatmemory.core.window import Window
from chatmemory.messages import UserMessage

EvictTo = float | int | None


def evict_oldest(
    window: Window,
    evict_to: EvictTo = None,
    *,
    main: Literal["tokens", "messages"] = "tokens",
    gone: Sequence[Unit] = (),
) -> Plan:
    """Plan to bring `window` down to `evict_to`, oldest first, around what must stay, and no further than needed.

    Args:
        window: The window; its policy says whether units or turns leave.
        evict_to: A share (a float in (0, 1]) of the room that each limit leaves beside the system message, or a number
            (an int) of the `main` limit. None: the limit. Where what must stay is above it, the limit too.
        main: Which limit an int is a number of.
        gone: Units that leave already, by another plan.
    """
    held = window.held
    mark = _mark(window, evict_to, main)
    turns = window.policy.unit == "turn"
    leaving, remove, refused, passed = {unit.place for unit in gone}, list[Unit](), list[Refusal](), False
    size = _without(window.size, gone)
    for group in _turn_groups(window) if turns else ((unit,) for unit in window.units()):
        if window.fits(size, mark):
            break
        opener = turns and passed and group[0].place == window.marks.user
        if opener or any(unit.place in held for unit in group):
            refused.extend(_refusals(window, group, held))
            passed = passed or group[0].place > window.marks.user
        else:
            more = [unit for unit in group if unit.place not in leaving]
            remove.extend(more)
            size = _without(size, more)
    return Plan(tuple(remove), tuple(refused))


def _without(size: Size, units: Iterable[Unit]) -> Size:
    for unit in units:
        size = size.minus(unit.size)
    return size


def _refusals(window: Window, group: tuple[Unit, ...], held: Mapping[int, tuple[str, ...]]) -> Iterator[Refusal]:
    for unit in group:
        names = held.get(unit.place) or (() if unit.place == window.arriving else ("turn",))
        if names:
            yield Refusal(unit.seq, names)


def _turn_groups(window: Window) -> Iterator[tuple[Unit, ...]]:
    # R8: earlier turns whole; then the last turn's units one by one, its user message behind the rest.
    last = window.last_turn
    turn: list[Unit] = []
    for unit in units_of(window.entries, window.head, last):
        if turn and isinstance(unit.message, UserMessage):
            yield tuple(turn)
            turn = []
        turn.append(unit)
    if turn:
        yield tuple(turn)
    opener: list[Unit] = []
    for unit in units_of(window.entries, last):
        if unit.place == window.marks.user:
            opener = [unit]
        else:
            yield (unit,)
    if opener:
        yield tuple(opener)


def _mark(window: Window, evict_to: EvictTo, main: str) -> Limit:
    limit = window.limit
    if evict_to is None:
        return limit
    wanted = _wanted(window, evict_to, main)
    must = window.staying()
    return Limit(
        wanted.tokens if window.fits(must, Limit(tokens=wanted.tokens)) else limit.tokens,
        wanted.messages if window.fits(must, Limit(messages=wanted.messages)) else limit.messages,
    )


def _wanted(window: Window, evict_to: float | int, main: str) -> Limit:
    limit, system = window.limit, window.system_size
    if isinstance(evict_to, float):
        return Limit(
            _share(evict_to, limit.tokens, system.tokens),
            _share(evict_to, limit.messages, window.count(system)),
        )
    if main == "tokens":
        return Limit(min(evict_to, limit.tokens or evict_to), limit.messages)
    return Limit(limit.tokens, min(evict_to, limit.messages or evict_to))


def _share(share: float, limit: int | None, taken: int) -> int | None:
    if limit is None:
        return None
    # The share is what was written, 0.7, not the nearest binary fraction below it: 0.7 of 90 is 63.
    return min(limit, taken + max(1, int(Fraction(repr(float(share))) * (limit - taken))))
