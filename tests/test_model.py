"""The slow model against the tables of windows, by hand, before anything is held against the model."""

from __future__ import annotations

import pytest

from tests.conversations import size_of
from tests.model import DoesNotFitError, Happened, Model
from tests.window_cases import Run, Step, label_of, runs


def _play(model: Model, step: Step) -> Happened:
    if step.message is not None:
        return model.extend([step.message])
    assert step.resize_to is not None
    if model.settings.kind == "tokens":
        return model.resize(max_tokens=step.resize_to)
    return model.resize(max_messages=step.resize_to)


def _check(model: Model, step: Step) -> None:
    if step.error is None:
        happened = _play(model, step)
        assert step.oversize in (None, happened.oversize)
    else:
        with pytest.raises(DoesNotFitError) as caught:
            _play(model, step)
        assert step.error == (caught.value.needed["tokens"], caught.value.allowed["tokens"])
    if step.window is not None:
        assert step.window == [label_of(record.message) for record in model.window]
    if step.tokens is not None:
        assert step.tokens == model.tokens


@pytest.mark.parametrize("run", runs(), ids=lambda run: run.name)
def test_the_model_gives_the_windows_of_the_tables(run: Run) -> None:
    """After each operation of a line, the model's window is the one that the line states."""
    model = Model(run.settings, size_of)
    for step in run.steps:
        _check(model, step)
