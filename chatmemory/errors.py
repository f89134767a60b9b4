"""The error tree. Every error says what, where and the remedy, and never quotes conversation text.

Decides: which errors exist and what data they carry. Knows nothing of messages, windows or stores.
"""

from __future__ import annotations


class ChatMemoryError(Exception):
    """Base of every error that this library raises on purpose."""


class InvalidArgumentError(ChatMemoryError, ValueError):
    """An argument of a memory, a strategy or a store is wrong; nothing changed.

    Attributes:
        field: Name of the argument.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field} {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[type[InvalidArgumentError], tuple[str, str]]:
        return type(self), (self.field, self.problem)


class InvalidMessageError(ChatMemoryError, ValueError):
    """A message cannot be accepted; nothing changed.

    Attributes:
        path: Where in the input, such as ``messages[3].content[1].image_url``; ``""`` for the message as a whole.
        problem: What is wrong there, and the remedy.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'the message'} {problem}")
        self.path = path
        self.problem = problem

    def under(self, prefix: str) -> InvalidMessageError:
        """Return the same error with `prefix` in front of its path.

        Example:
            >>> InvalidMessageError("content", "is an int").under("messages[3]").path
            'messages[3].content'
        """
        joint = "." if self.path and not self.path.startswith("[") else ""
        return InvalidMessageError(f"{prefix}{joint}{self.path}", self.problem)

    def __reduce__(self) -> tuple[type[InvalidMessageError], tuple[str, str]]:
        return type(self), (self.path, self.problem)


class NotInHistoryError(ChatMemoryError, LookupError):
    """A seq or a version that this conversation does not have (or no longer has)."""


class WindowOverflowError(ChatMemoryError):
    """What must stay and the new message are more than the limit (R6); nothing changed.

    Attributes:
        needed: What must stay, together with the message and its unit, in `measure`. A lower bound
            where the exact count was not needed to know that it does not fit.
        allowed: The limit, in `measure`.
        measure: ``"tokens"`` or ``"messages"``.
    """

    def __init__(self, what: str, *, needed: int, allowed: int, measure: str) -> None:
        super().__init__(
            f"{what} does not fit: {needed} {measure} are needed beside what must stay, {allowed} are allowed; "
            f"shorten it, raise the limit, or choose another overflow policy"
        )
        self.what = what
        self.needed = needed
        self.allowed = allowed
        self.measure = measure

    def __reduce__(self) -> tuple[object, tuple[str, int, int, str]]:
        return _overflow, (self.what, self.needed, self.allowed, self.measure)


def _overflow(what: str, needed: int, allowed: int, measure: str) -> WindowOverflowError:
    return WindowOverflowError(what, needed=needed, allowed=allowed, measure=measure)


class OwnershipError(ChatMemoryError):
    """The conversation is another owner's, or nobody's; nothing was read into the memory, and nothing changed."""


class IllegalPlanError(ChatMemoryError):
    """A strategy's plan breaks a rule of the window; nothing changed.

    Attributes:
        rule: The rule's name, such as ``"R3"``.
    """

    def __init__(self, rule: str, problem: str) -> None:
        super().__init__(f"{rule}: {problem}")
        self.rule = rule
        self.problem = problem

    def __reduce__(self) -> tuple[type[IllegalPlanError], tuple[str, str]]:
        return type(self), (self.rule, self.problem)


class TokenizerUnavailableError(ChatMemoryError):
    """The tokenizer's data cannot be had; the message says how to provide it."""


class StoreError(ChatMemoryError):
    """A store is unavailable, closed, read-only or full; the driver's error is the cause.

    Attributes:
        outcome_unknown: True where the store went away in the middle of a commit and did not come
            back, so that nobody knows yet whether the change is there (R11).
        transient: True where the same call may succeed in a moment: a deadlock, a busy file, a server that restarts.
            Memories try again by themselves, for `conflict_timeout_seconds` of their store.
    """

    def __init__(self, message: str, *, outcome_unknown: bool = False, transient: bool = False) -> None:
        super().__init__(message)
        self.outcome_unknown = outcome_unknown
        self.transient = transient


class ConflictError(StoreError):
    """Another writer committed first: the change was planned on a version that is no longer the newest."""


class CorruptedConversationError(StoreError):
    """Stored data cannot be read. Unreadable is not absent: it is never overwritten."""


class UnsupportedSchemaError(StoreError):
    """The database holds a schema that this version of the library cannot use."""
