"""JSON that nobody can change: lossless, compared by value, and strict about what is JSON."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmemory.errors import InvalidMessageError
from chatmemory.frozen_json import MAX_DEPTH, FrozenJson

texts = st.text(st.characters(exclude_categories=()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def nested(depth: int) -> list[Any]:
    """Lists inside lists, so many."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, with 1, 1.0 and True told apart."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


@given(json_values)
def test_every_value_comes_back(value: Any) -> None:
    """What is frozen thaws to the same value, code point by code point, and to a fresh one each time."""
    frozen = FrozenJson.of(value)
    assert same(value, frozen.thaw())
    if isinstance(value, list | dict):
        assert frozen.thaw() is not frozen.thaw()


@given(json_values, json_values)
def test_equality_is_that_of_the_values(one: Any, other: Any) -> None:
    """Two are equal exactly where their values are the same, and then they hash alike."""
    left, right = FrozenJson.of(one), FrozenJson.of(other)
    assert same(one, other) == (left == right)
    twin = pickle.loads(pickle.dumps(left))  # noqa: S301 - our own bytes
    assert left == twin == copy.deepcopy(left)
    assert hash(left) == hash(twin)


def test_a_pair_held_apart_is_not_its_character() -> None:
    """Two halves of a UTF-16 pair and the character that they look like are different texts."""
    apart, character = FrozenJson.of(["\ud83d\ude00"]), FrozenJson.of(["\U0001f600"])
    assert apart != character
    assert ["\ud83d\ude00"] == apart.thaw()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("x", float("nan")),
        ("x", float("-inf")),
        ("x[1]", [1, b"bytes"]),
        ("x.y", {"y": {1}}),
        ("x.y", {"y": object()}),
        ("x", {1: "one"}),
        ("x", 10**5000),
    ],
    ids=range(7),
)
def test_what_is_not_json(path: str, value: Any) -> None:
    """The error has the path of the value that is not JSON."""
    with pytest.raises(InvalidMessageError) as caught:
        FrozenJson.of(value, "x")
    assert path == caught.value.path


def test_depth() -> None:
    """Depth is limited, so that no reader of the value can run out of stack; what contains itself is too deep."""
    assert nested(MAX_DEPTH) == FrozenJson.of(nested(MAX_DEPTH)).thaw()
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (nested(MAX_DEPTH + 1), nested(100_000), cycle):
        with pytest.raises(InvalidMessageError, match="100 levels"):
            FrozenJson.of(value)


def test_the_repr_does_not_tell_the_text() -> None:
    """A repr gives the size only."""
    assert "<FrozenJson of 12 characters>" == repr(FrozenJson.of(["a secret"]))
