"""The slow model against what must hold whatever happens: said here a second time, in other words than the model's."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from chatmemory.messages import AssistantMessage, Message, SystemMessage, UserMessage
from tests.conversations import (
    OVERHEAD,
    Operation,
    answers,
    operations,
    size_of,
    user_messages,
    window_settings,
)
from tests.model import DoesNotFitError, Happened, Model
from tests.oracle import check_window
from tests.records import Record
from tests.window_settings import NO_GUARDS, WindowSettings, token_settings


@frozen
class Moment:
    """The model before and after an operation that was done."""

    before: Model
    after: Model
    operation: Operation
    happened: Happened


@st.composite
def lives(draw: st.DrawFn) -> tuple[WindowSettings, list[Operation]]:
    """Settings, and what is done to a conversation under them."""
    settings = draw(window_settings())
    return settings, draw(operations(settings))


def _apply(model: Model, operation: Operation) -> Happened:
    match operation.name:
        case "extend":
            return model.extend(operation.messages)
        case "set":
            return model.set(operation.replacement([record.message for record in model.window]))
        case "clear":
            return model.clear()
        case "reopen":
            return model.reopen(operation.settings)
        case "resize":
            limits = {name: value for name, value in operation.limits.items() if _has(model.settings, name)}
            return model.resize(**limits)


def _has(settings: WindowSettings, limit: str) -> bool:
    return (settings.max_messages if limit == "max_messages" else settings.max_tokens) is not None


def _moments(life: tuple[WindowSettings, list[Operation]]) -> Iterator[Moment]:
    model = Model(life[0], size_of)
    for operation in life[1]:
        before = deepcopy(model)
        try:
            happened = _apply(model, operation)
        except DoesNotFitError:
            assert (before.records, before.settings, before.version) == (model.records, model.settings, model.version)
        else:
            yield Moment(before, model, operation, happened)


def _sizes(model: Model, window: list[Record]) -> dict[str, int]:
    tokens = sum(size_of(record.message) for record in window) + (OVERHEAD if window else 0)
    uncounted = 0 if model.settings.count_system else sum(record.role == "system" for record in window)
    return {"tokens": tokens, "messages": len(window) - uncounted}


def _is_over(model: Model, window: list[Record]) -> bool:
    return any(_sizes(model, window)[measure] > limit for measure, limit in model.settings.limits.items())


@given(lives())
def test_windows_are_what_a_provider_accepts(life: tuple[WindowSettings, list[Operation]]) -> None:
    """Whatever is added, the window is valid but for calls that still wait (R2, R3)."""
    for moment in _moments(life):
        assert [] == check_window(record.message for record in moment.after.window)


@given(lives())
def test_windows_fit(life: tuple[WindowSettings, list[Operation]]) -> None:
    """The window fits every limit, unless the caller chose to keep what does not (R1)."""
    for moment in _moments(life):
        assert moment.after.settings.overflow == "keep" or not _is_over(moment.after, moment.after.window)


@given(lives())
def test_the_history_is_whole(life: tuple[WindowSettings, list[Operation]]) -> None:
    """Seqs count up without a gap, and the versions of coming and leaving give each window back (R9)."""
    for moment in _moments(life):
        history = moment.after.history
        assert list(range(1, len(history) + 1)) == [record.seq for record in history]
        for version, window in moment.after.windows.items():
            there = [r.seq for r in history if r.entered <= version and (r.left is None or r.left > version)]
            assert there == sorted(window)


@given(lives())
def test_every_message_has_its_place(life: tuple[WindowSettings, list[Operation]]) -> None:
    """Each message of an add is in the history, but a system message that is there already (R2, R9)."""
    for moment in _moments(life):
        written = moment.after.history[len(moment.before.history) :]
        if moment.operation.name == "extend":
            given_ones = moment.operation.messages
            assert [r.message for r in written] == _without_repeated_systems(moment.before, given_ones)


def _without_repeated_systems(before: Model, given_ones: tuple[Message, ...]) -> list[Message]:
    present = next((record.message.text for record in before.window if record.role == "system"), None)
    kept: list[Message] = []
    for message in given_ones:
        if isinstance(message, SystemMessage):
            if message.text == present:
                continue
            present = message.text
        kept.append(message)
    return kept


@given(lives())
def test_no_more_leaves_than_is_needed(life: tuple[WindowSettings, list[Operation]]) -> None:
    """The last unit that left for the budget, put back, would be above the limit (R4)."""
    for moment in _moments(life):
        new = moment.operation.messages
        gone = [r for r in moment.happened.removed if r.reason == "budget"]
        plain = moment.operation.name == "extend" and len(new) == 1 and not isinstance(new[0], AssistantMessage)
        settings = moment.after.settings
        if gone and plain and settings.evict_to is None and settings.unit == "message" and settings.overflow != "keep":
            last = max(record.head for record in gone)
            back = [record for record in gone if record.head == last]
            assert _is_over(moment.after, [*moment.after.window, *back])


@given(lives())
def test_nothing_else_is_lost_for_what_does_not_fit(life: tuple[WindowSettings, list[Operation]]) -> None:
    """A message that is oversize takes its own unit with it and nothing more (R6)."""
    for moment in _moments(life):
        if moment.operation.name == "extend" and len(moment.operation.messages) == 1 and moment.happened.oversize:
            assert 1 == len({record.head for record in moment.happened.removed})
            assert {"oversize"} == {record.reason for record in moment.happened.removed}
            assert [] == moment.happened.refused


@given(lives())
def test_the_request_stays(life: tuple[WindowSettings, list[Operation]]) -> None:
    """While it is guarded, the last user message leaves for nothing but its answer or a system message (R5)."""
    for moment in _moments(life):
        if moment.operation.name != "extend" or "current_request" not in moment.before.settings.guards:
            continue
        strong = (UserMessage, SystemMessage)
        if any(isinstance(m, strong) or _is_answer(m) for m in moment.operation.messages):
            continue
        users = [record.seq for record in moment.before.window if record.role == "user"]
        assert set(users[-1:]) <= {record.seq for record in moment.after.window}


def _is_answer(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and not message.tool_calls


@given(st.lists(st.one_of(user_messages(), answers()), max_size=20), st.integers(1, 80))
def test_without_guards_it_is_first_in_first_out(given_ones: list[Message], limit: int) -> None:
    """Without guards and calls the window is the newest messages that fit, but for those that never do."""
    model = Model(evolve(token_settings(limit), guards=NO_GUARDS), size_of)
    for message in given_ones:
        model.extend([message])
    newest: list[Message] = []
    room = limit - OVERHEAD
    for message in reversed([one for one in given_ones if size_of(one) <= limit - OVERHEAD]):
        room -= size_of(message)
        if room < 0:
            break
        newest.insert(0, message)
    assert newest == [record.message for record in model.window]


@given(lives())
def test_what_changes_nothing_is_no_version(life: tuple[WindowSettings, list[Operation]]) -> None:
    """A version is a change: setting the window as it is, and clearing an empty one, make none (R11)."""
    model = Model(life[0], size_of)
    for moment in _moments(life):
        model = moment.after
    version = model.version
    assert not model.set([record.message for record in model.window]).changed
    assert version == model.version
    model.clear()
    assert not model.clear().changed
    assert model.version - version in (0, 1)
