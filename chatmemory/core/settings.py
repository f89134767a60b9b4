"""What a memory was told: strategy, guards, overflow and reserve, checked once.

Decides: which settings are valid, and the policy that follows from them. Nothing is checked again later.
"""

from __future__ import annotations

from typing import Any, Final, cast, get_args

from attrs import evolve, field, fields_dict, frozen, has

from chatmemory.checks import check_count
from chatmemory.core.entries import Limit, OverflowPolicy
from chatmemory.core.guards import Guards
from chatmemory.core.plan import WindowStrategy
from chatmemory.core.policy import Policy
from chatmemory.errors import InvalidArgumentError

_POLICIES: Final = get_args(OverflowPolicy)


def check_evict_to(value: object) -> None:
    """Refuse what is neither None, nor a share in (0, 1], nor a whole number of at least 1.

    Raises:
        InvalidArgumentError: Saying which of these to give.
    """
    if value is None:
        return
    if isinstance(value, float):
        if not 0 < value <= 1:
            raise InvalidArgumentError(
                "evict_to", f"is {value}; as a share of the limit give a float above 0, up to 1.0"
            )
    else:
        check_count("evict_to", value)


@frozen
class Meter:
    """What the core knows of a token counter: its name, and what a request costs besides its messages.

    Raises:
        InvalidArgumentError: The counter's name is no str, or its overhead no int of 0 or more.
    """

    name: str
    overhead: int

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidArgumentError("counter", f"has a name of type {type(self.name).__name__}; give a str")
        check_count("counter.overhead", self.overhead, least=0)


@frozen(kw_only=True)
class Settings:
    """How a window is kept. `max_tokens` is a limit for a strategy that has none."""

    strategy: WindowStrategy
    guards: Guards = field(factory=Guards)
    overflow: OverflowPolicy = "evict"
    reserve_tokens: int = 0
    max_tokens: int | None = None

    def __attrs_post_init__(self) -> None:
        if isinstance(self.strategy, type) or not isinstance(self.strategy, WindowStrategy):
            raise InvalidArgumentError(
                "strategy", f"is a {type(self.strategy).__name__}; give one such as TokenBudget(8_000)"
            )
        if self.strategy.requires_llm:
            raise InvalidArgumentError(
                "strategy", f"{self.strategy.name!r} needs a summariser, which a memory does not have"
            )
        if not isinstance(self.guards, Guards):
            raise InvalidArgumentError("guards", f"is a {type(self.guards).__name__}; give Guards(…) or Guards.none()")
        if self.overflow not in _POLICIES:
            raise InvalidArgumentError(
                "overflow", f"is {self.overflow!r}; give one of {', '.join(map(repr, _POLICIES))}"
            )
        check_count("reserve_tokens", self.reserve_tokens, least=0)
        if self.max_tokens is not None:
            check_count("max_tokens", self.max_tokens)
            if self.strategy.limits.max_tokens is not None:
                raise InvalidArgumentError(
                    "max_tokens", f"is given twice: the strategy {self.strategy.name!r} has its own"
                )
        self._check_reserve()

    def _check_reserve(self) -> None:
        limit, kept_free = self.token_limit, self.reserve_tokens + self.strategy.overhead_tokens
        if limit is None and kept_free:
            raise InvalidArgumentError(
                "reserve_tokens", "has no token limit to be taken from; set max_tokens, or leave it out"
            )
        if limit is not None and kept_free >= limit:
            raise InvalidArgumentError(
                "reserve_tokens", f"and the strategy keep {kept_free} free of max_tokens={limit}; make it smaller"
            )

    @property
    def token_limit(self) -> int | None:
        """What a request may cost before the reserve is taken off, or None."""
        return self.max_tokens or self.strategy.limits.max_tokens

    def policy(self, meter: Meter | None) -> Policy:
        """Return what the window must keep to."""
        limits = self.strategy.limits
        kept_free = self.reserve_tokens + self.strategy.overhead_tokens
        tokens = None if self.token_limit is None else self.token_limit - kept_free
        return Policy(
            limit=Limit(tokens, limits.max_messages),
            guards=self.guards,
            overflow=self.overflow,
            unit=limits.unit,
            count_system=limits.count_system,
            counted=meter is not None,
            overhead=meter.overhead if meter else 0,
        )

    def resized(self, *, max_tokens: int | None, max_messages: int | None, reserve_tokens: int | None) -> Settings:
        """Return these settings with other limits; None leaves one as it is.

        Raises:
            InvalidArgumentError: The strategy does not have that limit, or a value is wrong.
        """
        wanted = {"max_tokens": max_tokens, "max_messages": max_messages}
        limits = {name: value for name, value in wanted.items() if value is not None}
        reserve = self.reserve_tokens if reserve_tokens is None else reserve_tokens
        return evolve(self, strategy=_with_limits(self.strategy, limits), reserve_tokens=reserve)


def _with_limits(strategy: WindowStrategy, limits: dict[str, int]) -> WindowStrategy:
    kind: Any = type(strategy)
    for name in limits:
        if getattr(strategy.limits, name) is None or not has(kind) or name not in fields_dict(kind):
            raise InvalidArgumentError(name, f"is no limit of the strategy {strategy.name!r}, so it cannot be resized")
    changed: WindowStrategy = evolve(cast("Any", strategy), **limits) if limits else strategy
    return changed
