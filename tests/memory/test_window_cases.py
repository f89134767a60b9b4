"""The tables of windows, played on the real memory."""

from __future__ import annotations

import pytest

from chatmemory import Change, ChatMemory, WindowOverflowError
from tests.real_memory import open_memory
from tests.window_cases import Run, Step, label_of, runs


@pytest.mark.parametrize("run", runs(), ids=lambda run: run.name)
def test_a_table_of_windows_holds(run: Run) -> None:
    """After each operation, the memory shows the window, the total and the oversize sign that the table states."""
    memory = open_memory(None, run.settings)
    for step in run.steps:
        check_step(memory, step, run.settings.kind)


def check_step(memory: ChatMemory, step: Step, kind: str) -> None:
    """Play one step and hold what follows against the table."""
    if step.error is not None:
        with pytest.raises(WindowOverflowError) as caught:
            play(memory, step, kind)
        assert step.error == (caught.value.needed, caught.value.allowed)
    else:
        change = play(memory, step, kind)
        assert step.oversize in (None, change.oversize)
    if step.window is not None:
        assert step.window == [label_of(message) for message in memory.messages()], step.label
    if step.tokens is not None:
        assert step.tokens == memory.tokens


def play(memory: ChatMemory, step: Step, kind: str) -> Change:
    """Do what one step says."""
    if step.resize_to is None:
        return memory.add(step.message)
    return memory.resize(**{f"max_{kind}": step.resize_to})
