"""Planted faults: each is noticed by its test, and by nothing but the fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.core.planted import FAULTS, Fault, runs_of

faults = pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])


def fails(test: Callable[..., None], arguments: dict[str, Any]) -> bool:
    """Whether the test sees something wrong; an error that it does not look for is not noticing."""
    try:
        test(**arguments)
    except (AssertionError, pytest.fail.Exception):
        return True
    except Exception:  # noqa: BLE001 - the core may do anything while a fault is in it
        return False
    return False


@faults
def test_a_planted_fault_is_noticed(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named test passes without the fault, and fails in at least one of its runs while it is planted."""
    for arguments in runs_of(fault.noticed_by):
        fault.noticed_by(**arguments)
    with monkeypatch.context() as patch:
        fault.plant(patch)
        noticed = [fails(fault.noticed_by, arguments) for arguments in runs_of(fault.noticed_by)]
    assert any(noticed)


def test_faults_are_many_and_named() -> None:
    """Ten faults and more, no two of one name, and every test is one that the suite runs by itself."""
    assert 10 <= len({fault.name for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert fault.noticed_by.__name__.startswith("test_")
        assert fault.noticed_by.__module__.startswith("tests.core.test_")


def test_a_fault_that_nobody_notices_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes nothing is not taken for noticed: the check itself can fail."""
    harmless = Fault("nothing is wrong", ("chatmemory.core.extent.DEAD_ALLOWED",), 64, FAULTS[0].noticed_by)
    with pytest.raises(AssertionError):
        test_a_planted_fault_is_noticed(harmless, monkeypatch)


def test_the_core_is_whole_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault is out of the core as soon as it was looked at."""
    for fault in FAULTS:
        with monkeypatch.context() as patch:
            fault.plant(patch)
    for fault in FAULTS:
        assert not any(fails(fault.noticed_by, arguments) for arguments in runs_of(fault.noticed_by))
