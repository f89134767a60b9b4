"""A local server with OpenAI's chat completions, so that examples run with the real SDK and no account.

Decides: what it answers. Where tools are offered and the last message is the user's, it calls the first of them;
otherwise it answers with text. A call without its result it refuses, as the provider does. Knows no other endpoint.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@contextmanager
def chat_server() -> Iterator[str]:
    """Serve on a free port of this machine while the context lasts; gives the base URL for the SDK."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(request: Json) -> tuple[int, Json]:
    """Return the status and the body for one request."""
    messages = request["messages"]
    if unanswered := _unanswered(messages):
        return 400, {"error": {"message": f"tool calls without results: {sorted(unanswered)}"}}
    if request.get("tools") and messages[-1]["role"] == "user":
        return 200, _completion(_call(request["tools"][0], f"call_{len(messages)}"), "tool_calls")
    return 200, _completion({"role": "assistant", "content": "It will be there tomorrow."}, "stop")


def _unanswered(messages: list[Json]) -> set[str]:
    """Return the ids of calls whose results do not stand directly behind them."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            waiting.discard(message["tool_call_id"])
        elif waiting:
            break
        else:
            waiting = {call["id"] for call in message.get("tool_calls") or ()}
    return waiting


def _call(tool: Json, call_id: str) -> Json:
    arguments = dict.fromkeys(tool["function"].get("parameters", {}).get("required", ()), "42")
    function = {"name": tool["function"]["name"], "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def _completion(message: Json, reason: str) -> Json:
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "local", "choices": [choice]}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer a request for chat completions; any other path is not found."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = self.path == "/v1/chat/completions"
        status, reply = answer(json.loads(body)) if found else (404, {"error": {"message": self.path}})
        text = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the standard library
        """Print nothing: pytest shows what matters."""
