"""How things are timed: in rounds that take turns, so that a slow minute of the machine falls on all of them alike.

Decides: what a timing is. Knows nothing of what is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median, quantiles

from attrs import frozen


@frozen
class Timing:
    """Seconds of one thing over many rounds: the median, and the spread from the 10th to the 90th percentile."""

    median: float
    p10: float
    p90: float

    @classmethod
    def of(cls, seconds: list[float]) -> Timing:
        """Return the timing of these rounds."""
        if len(seconds) == 1:
            return cls(seconds[0], seconds[0], seconds[0])
        tenths = quantiles(seconds, n=10, method="inclusive")
        return cls(median(seconds), tenths[0], tenths[-1])

    def __str__(self) -> str:
        return f"{shown(self.median)} ({shown(self.p10)} to {shown(self.p90)})"


def shown(seconds: float) -> str:
    """Return a duration as people read it."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def in_turns(things: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, Timing]:
    """Time each of `things` once a round, after one round that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in things}
    for number in range(rounds + 1):
        for name, thing in things.items():
            start = time.perf_counter()
            thing()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: Timing.of(each) for name, each in seconds.items()}
