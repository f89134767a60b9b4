"""Exact counts for OpenAI's models, by OpenAI's own tokenizer.

Decides: which encoding a model has, when its file is secured and when it is parsed, and how text that tiktoken cannot
take in one piece is cut. The formula is in `formula`, the files in `rank_files`. Keeps R10: a counter's name tells
apart what counts differently.
"""

from __future__ import annotations

import base64
import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from threading import RLock
from types import FunctionType
from typing import Final

import tiktoken
from attrs import field, frozen
from tiktoken.model import MODEL_TO_ENCODING
from tiktoken.registry import ENCODINGS

from chatmemory.errors import InvalidArgumentError
from chatmemory.messages import Message
from chatmemory.tokens.formula import FORMULA, PER_REQUEST, WIRE_ROLES, measure
from chatmemory.tokens.rank_files import LONGEST_TOKEN_BYTES, RANK_FILES, SAME_COUNTS, Secured, secure

LONGEST_BLANK: Final = 500_000
"""Characters of white space that tiktoken is given in one run; at about 1,000,000 its pattern overflows its stack."""

_BLANK: Final = re.compile(rf"\s{{{LONGEST_BLANK}}}")


@frozen
class _Vocabulary:
    """A parsed encoding: how it encodes, and what each message's role costs."""

    encode: Callable[[str], list[int]]
    role_tokens: Mapping[str, int]


_PARSED: dict[str, _Vocabulary] = {}
_LOCK: Final = RLock()


def _encoding_of(model_or_encoding: str) -> str:
    _check_is_text(model_or_encoding)
    encoding = SAME_COUNTS.get(model_or_encoding, model_or_encoding)
    if encoding in RANK_FILES:
        return encoding
    try:
        encoding = tiktoken.encoding_name_for_model(model_or_encoding)
    except KeyError:
        raise InvalidArgumentError("model_or_encoding", _unknown(model_or_encoding)) from None
    return _with_rank_file(model_or_encoding, SAME_COUNTS.get(encoding, encoding))


def _check_is_text(value: object) -> None:
    if not isinstance(value, str):
        problem = f"is of type {type(value).__name__}; give a name, such as 'gpt-4o'"
        raise InvalidArgumentError("model_or_encoding", problem)


def _with_rank_file(model: str, encoding: str) -> str:
    if encoding not in RANK_FILES:
        problem = f"{model!r} has the encoding {encoding!r}, which is not known here; name one of {_listed(RANK_FILES)}"
        raise InvalidArgumentError("model_or_encoding", problem)
    return encoding


def _unknown(name: str) -> str:
    names = {known.lower(): known for known in (*MODEL_TO_ENCODING, *SAME_COUNTS, *RANK_FILES)}
    close = [names[key] for key in difflib.get_close_matches(name.lower(), names, n=3)]
    meant = f"did you mean {' or '.join(map(repr, close))}? Otherwise name" if close else "name"
    return f"{name!r} is no model or encoding that tiktoken knows; {meant} its encoding, one of {_listed(RANK_FILES)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


@frozen(repr=False)
class TiktokenCounter:
    """Counts as OpenAI does: 3 tokens a message, role and content, 1 and the name, 3 a request.

    Text that looks like a special token is text, an image costs by its `detail`; `formula.measure` says what else is
    counted. Making a counter secures the encoding's file: from tiktoken's cache, from the ``offline`` extra, or by one
    download (3 seconds to connect, 30 in all). The first count in a process parses it, which takes about a third of a
    second; where tiktoken's cache cannot keep the file, making the counter does. Counters are equal by name, may be
    used by several threads, and can be pickled.

    Args:
        model_or_encoding: A model that tiktoken knows, such as ``"gpt-4o"``, or the name of one of its encodings.

    Raises:
        InvalidArgumentError: tiktoken knows no such model or encoding; close names are given, nothing is guessed.
        TokenizerUnavailableError: The encoding's file cannot be had; the error says how to provide it.

    Example:
        >>> from chatmemory.messages import UserMessage
        >>> counter = TiktokenCounter("gpt-4o")
        >>> counter.name
        'tiktoken:o200k_base:1'
        >>> counter.count(UserMessage("hello world")), counter.overhead
        (6, 3)
    """

    encoding: str = field(default="o200k_base", converter=_encoding_of, alias="model_or_encoding")

    def __attrs_post_init__(self) -> None:
        _prepare(self.encoding)

    @property
    def name(self) -> str:
        """The encoding and the formula's version; models with the same encoding share it."""
        return f"tiktoken:{self.encoding}:{FORMULA}"

    @property
    def overhead(self) -> int:
        """3: each request ends with the opening of the answer."""
        return PER_REQUEST

    def count(self, message: Message) -> int:
        """Return what `message` costs, in tokens. A million letters without a space take about half a second.

        Raises:
            TokenizerUnavailableError: The file has left tiktoken's cache since the counter was made (or the counter
                comes out of a pickle), and cannot be had.
        """
        vocabulary = _PARSED.get(self.encoding) or _parse(self.encoding)
        texts, tokens = measure(message)
        tokens += vocabulary.role_tokens[message.role]
        for text in texts:
            tokens += len(vocabulary.encode(text))
        return tokens

    def at_least(self, message: Message) -> int:
        """Return a lower bound of ``count(message)``, without the encoding's file: bytes over its longest token."""
        texts, tokens = measure(message)
        return tokens + 1 + sum(_started_tokens(text) for text in texts)

    def __repr__(self) -> str:
        return f"TiktokenCounter({self.encoding!r})"


def _started_tokens(text: str) -> int:
    # A lone surrogate becomes one "?", less than the three bytes that tiktoken makes of it: the bound stays below.
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // LONGEST_TOKEN_BYTES)


def _prepare(encoding: str) -> None:
    with _LOCK:
        if encoding in _PARSED or encoding in ENCODINGS:
            return
        secured = secure(RANK_FILES[encoding])
        if not secured.in_cache:
            _PARSED[encoding] = _vocabulary(_read(encoding, secured))


def _parse(encoding: str) -> _Vocabulary:
    with _LOCK:
        if encoding not in _PARSED:
            known = ENCODINGS.get(encoding)
            _PARSED[encoding] = _vocabulary(known or _read(encoding, secure(RANK_FILES[encoding])))
        return _PARSED[encoding]


def _vocabulary(encoding: tiktoken.Encoding) -> _Vocabulary:
    def encode(text: str) -> list[int]:
        if len(text) <= LONGEST_BLANK:
            return encoding.encode_ordinary(text)
        return [token for piece in _pieces(text) for token in encoding.encode_ordinary(piece)]

    return _Vocabulary(encode, {role: len(encode(wire)) for role, wire in WIRE_ROLES.items()})


def _pieces(text: str) -> list[str]:
    cuts = [0, *(blank.end() for blank in _BLANK.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _read(encoding: str, secured: Secured) -> tiktoken.Encoding:
    return tiktoken.get_encoding(encoding) if secured.in_cache else _from_content(encoding, secured.content)


def _from_content(encoding: str, content: bytes) -> tiktoken.Encoding:
    """Make an encoding without tiktoken's cache: its own definition, run with a reader that has the file already."""
    definition = importlib.import_module("tiktoken_ext.openai_public").ENCODING_CONSTRUCTORS[encoding]
    scope = {**definition.__globals__, "load_tiktoken_bpe": lambda *_where, **_expected: _ranks(content)}
    return tiktoken.Encoding(**FunctionType(definition.__code__, scope)())


def _ranks(content: bytes) -> dict[bytes, int]:
    pairs = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
