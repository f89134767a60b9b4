"""Estimates without a file, against the real tokenizer."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given

from chatmemory.messages import AssistantMessage, ImagePart, Message, SystemMessage, ToolCall, UserMessage
from chatmemory.tokens import ApproximateCounter, TiktokenCounter, TokenCounter
from tests.tokens.messages import messages
from tests.tokens.samples import TEXTS


@pytest.mark.parametrize("kind", TEXTS)
def test_estimate_is_right_to_the_order(kind: str) -> None:
    """In every script, and in code, JSON and logs, the estimate is within a factor of 2 of o200k_base."""
    message = UserMessage(TEXTS[kind])
    exact = TiktokenCounter("o200k_base").count(message) - 4
    assert exact / 2 <= ApproximateCounter().count(message) - 4 <= exact * 2


def test_estimates_together_are_close() -> None:
    """Errors do not all go one way: the texts of all kinds together are right within a tenth."""
    exact = sum(TiktokenCounter().count(UserMessage(text)) for text in TEXTS.values())
    assert 0.9 * exact <= sum(ApproximateCounter().count(UserMessage(text)) for text in TEXTS.values()) <= 1.1 * exact


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        # 3 for the message, 1 for the role
        (4, UserMessage("")),
        # 4 and 85
        (89, UserMessage([ImagePart("https://example.org/a.png", detail="low")])),
        # 4, 1 for having a name, "ab" at 13 hundredths a letter, rounded up
        (6, SystemMessage("", name="ab")),
        # 4, 4 for the call, 7 letters at 13 (0.91), "{}" at 55 (1.1)
        (11, AssistantMessage(tool_calls=(ToolCall("c1", "weather", "{}"),))),
        # 4, ten Chinese characters at 75 hundredths
        (12, UserMessage("包裹今天下午到不到呢")),
        # 4, four emoji at 150 hundredths
        (10, UserMessage("📦🚚🎉🙏")),
    ],
)
def test_estimates_worked_out_by_hand(tokens: int, message: Message) -> None:
    """The formula is that of the exact counter; only texts are weighed."""
    assert tokens == ApproximateCounter().count(message)


@given(messages())
def test_estimate_never_fails(message: Message) -> None:
    """Whatever a message holds, it costs at least its 3 tokens and its role."""
    assert 4 <= ApproximateCounter().count(message)


def test_counter_is_a_value() -> None:
    """It fulfils the protocol, has a name of its own, compares by value and pickles."""
    counter: TokenCounter = ApproximateCounter()
    assert isinstance(counter, TokenCounter)
    assert ("approximate:1.1", 3) == (counter.name, counter.overhead)
    assert counter == pickle.loads(pickle.dumps(counter))  # noqa: S301 - our own
    assert "ApproximateCounter()" == repr(counter)
