"""Token windows with the tokenizer that is the default."""

from __future__ import annotations

import time

import pytest

from chatmemory import SystemMessage, TiktokenCounter, UserMessage
from tests.memory.conftest import Api

pytestmark = pytest.mark.usefixtures("rank_files")


def test_text_that_looks_like_a_special_token(api: Api) -> None:
    """T9: it is text, and costs what its characters cost."""
    memory = api.token_window(max_tokens=1000)
    change = memory.add(UserMessage("ends <|endoftext|> here <|im_start|>"))
    assert not change.oversize
    assert 3 + 3 + 2 < (memory.tokens or 0)
    assert ["ends <|endoftext|> here <|im_start|>"] == [message.text for message in memory.messages()]


def test_a_million_letters(api: Api) -> None:
    """T10: far too long a message is oversize, known by a bound and not by a second of counting."""
    memory = api.token_window(max_tokens=100)
    memory.add(UserMessage("warm up"))
    before = time.perf_counter()
    change = memory.add(UserMessage("a" * 1_000_000))
    assert time.perf_counter() - before < 0.5
    assert change.oversize
    assert [None] == [removal.tokens for removal in change.removed]
    assert 1_000_000 == len(memory.history()[-1].message.text)
    assert ["warm up"] == [message.text for message in memory.messages()]


def test_the_default_is_the_newest_encoding(api: Api) -> None:
    """R10: without a counter a token window counts as `TiktokenCounter("o200k_base")` does."""
    message = SystemMessage("You are kind. 数える 👩‍👧")
    default, named = api.token_window(max_tokens=99), TiktokenCounter("o200k_base")
    assert named.overhead + named.count(message) == default.add(message).tokens
    assert named.name == default.window()[0].counter


def test_a_message_window_with_a_token_limit_counts_too(api: Api) -> None:
    """Both limits hold at once, whichever is reached first."""
    memory = api.message_window(max_messages=3, max_tokens=27)
    memory.extend(UserMessage(text) for text in ("one", "two", "three", "four"))
    assert ["two", "three", "four"] == [message.text for message in memory.messages()]
    memory.add(UserMessage("a somewhat longer message, of a dozen tokens or so"))
    assert ["four", "a somewhat longer message, of a dozen tokens or so"] == [m.text for m in memory.messages()]
