"""The main job as an application does it, with the real SDK against a server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from chatmemory import ChatMemory, SystemMessage, ToolMessage, UserMessage, to_openai
from chatmemory.formats import check
from tests.chat_server import chat_server
from tests.memory.conftest import Api, Place

pytestmark = pytest.mark.usefixtures("rank_files")

TOOL: Any = {
    "type": "function",
    "function": {
        "name": "find_parcel",
        "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    },
}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAI]:
    """The SDK's client; the server answers a user with a call, and a result with text."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with chat_server() as url, OpenAI(base_url=url, api_key="none", max_retries=0) as made:
        yield made


def ask(memory: ChatMemory, client: OpenAI, text: str) -> str | None:
    """One turn of the conversation: the loop of an application."""
    change = memory.add(UserMessage(text))
    assert not change.oversize
    while True:
        messages: Any = to_openai(memory.window())
        reply = client.chat.completions.create(model="local", messages=messages, tools=[TOOL]).choices[0].message
        memory.add(reply)
        if not reply.tool_calls:
            return reply.content
        memory.extend(ToolMessage("In Bern.", tool_call_id=call.id) for call in reply.tool_calls)


def test_the_loop_of_an_application(api: Api, place: Place, client: OpenAI) -> None:
    """Request, call, result, answer, again and again over restarts: no request is ever refused, the window fits."""
    for turn in range(4):
        memory = api.token_window("user-42", max_tokens=90, store=place.open())
        memory.add(SystemMessage("You are kind."))
        assert "It will be there tomorrow." == ask(memory, client, f"Where is parcel {turn}?")
        place.close()
    memory = api.token_window("user-42", max_tokens=90, store=place.open())
    assert 1 + 4 * 4 == len(memory.history())
    assert ["system", "user", "assistant", "tool", "assistant"] == [
        memory.messages()[at].role for at in (0, -4, -3, -2, -1)
    ]
    assert {None, "budget"} == {entry.reason for entry in memory.history()}
    assert 0 < (memory.tokens or 0) <= 90
    assert [] == check(to_openai(memory.window()))


def test_a_loop_that_was_broken_off(api: Api, place: Place, client: OpenAI) -> None:
    """R13: after a crash between call and result, the conversation goes on with the next question."""
    memory = api.token_window("user-42", max_tokens=200, store=place.open())
    memory.add(UserMessage("Where is my parcel?"))
    messages: Any = to_openai(memory.window())
    memory.add(client.chat.completions.create(model="local", messages=messages, tools=[TOOL]).choices[0].message)
    place.close()
    again = api.token_window("user-42", max_tokens=200, store=place.open())
    assert "It will be there tomorrow." == ask(again, client, "Hello?")
    assert 6 == len(again.messages())
