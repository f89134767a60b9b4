"""R6: what is logged, how loud, and that no conversation text is in it."""

from __future__ import annotations

import logging

import pytest

from chatmemory import AssistantMessage, SystemMessage, UserMessage
from chatmemory.stores import ChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """The lines of this library at one level."""
    return [record.getMessage() for record in caplog.records if record.levelno == level]


@pytest.fixture(autouse=True)
def everything(caplog: pytest.LogCaptureFixture) -> None:
    """Listen to every level."""
    caplog.set_level(logging.DEBUG, logger="chatmemory")


def test_a_routine_eviction(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """One debug line says whose window it is, and its messages and tokens before and after; nothing is louder."""
    memory = api.token_window("conv-7", max_tokens=99, counter=SizeCounter())
    memory.extend([UserMessage("secret:41"), AssistantMessage("secret:42")])
    assert [] == caplog.records
    memory.add(UserMessage("secret:43"))
    (line,) = lines(caplog, logging.DEBUG)
    assert "conv-7" in line
    assert "2 -> 2" in line
    assert "86 -> 88" in line
    assert [] == lines(caplog, logging.WARNING)


def test_an_oversize_message(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """A message that does not fit is a warning that names the conversation."""
    memory = api.token_window("conv-7", max_tokens=20, counter=SizeCounter())
    memory.add(UserMessage("secret:50"))
    (line,) = lines(caplog, logging.WARNING)
    assert "conv-7" in line
    assert "oversize" in line


def test_guarded_units_that_leave(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """What leaves as oversize because the limit shrinks is a warning as well."""
    memory = api.token_window("conv-7", max_tokens=20, counter=SizeCounter())
    memory.add(UserMessage("secret:10"))
    memory.resize(max_tokens=5)
    assert 1 == len(lines(caplog, logging.WARNING))


def test_a_cut_on_opening(api: Api, store: ChatMemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """What leaves when a stored conversation is opened under a smaller limit is logged like any other."""
    api.token_window("conv-7", max_tokens=90, counter=SizeCounter(), store=store).add(UserMessage("secret:10"))
    api.token_window("conv-7", max_tokens=5, counter=SizeCounter(), store=store).window()
    assert 1 == len(lines(caplog, logging.WARNING))


def test_no_text_is_logged(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever happens, no word of the conversation is in the log."""
    memory = api.token_window("c", max_tokens=30, counter=SizeCounter())
    memory.extend([SystemMessage("secret:5"), UserMessage("secret:10"), AssistantMessage("secret:10")])
    memory.add(SystemMessage("other secret:5"))
    memory.add(UserMessage("secret:99"))
    memory.set([UserMessage("secret:7")])
    memory.clear()
    assert caplog.records
    assert "secret" not in caplog.text


def test_nothing_is_logged_where_nothing_leaves(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """Adds that only add are silent."""
    memory = api.message_window(max_messages=9)
    memory.add(SystemMessage("s"))
    memory.add(SystemMessage("s"))
    memory.add(UserMessage("u"))
    memory.resize(max_messages=10)
    assert [] == caplog.records
