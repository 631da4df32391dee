"""The server as the SDK's own client sees it, over standard input and output."""

import io
import json
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from helpers import COMMAND, CUT, as_lines, condense, session, unharmed
from odd_values import ODD

from condense_cli.clients.mcp_tools import MOST, Library
from condense_cli.config.own import UserConfiguration
from condense_cli.core.markers import short_hash
from condense_cli.errors import ExitStatus

SEARCH = {"name": "search", "arguments": {"text": "TEXT"}}


async def talk(folder: Path, file: Path) -> None:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp", str(file)], cwd=str(folder))
    async with Client(stdio_client(parameters)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["check", "inspect", "recap", "search", "show"]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())

        assert [name for name, tool in tools.items() if (tool.meta or {}).get("anthropic/alwaysLoad")] == ["show"]

        async def ask(name: str, **arguments: object) -> str:
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error
            return "".join(part.text for part in answer.content if part.type == "text")

        assert await ask("show", what=short_hash(CUT[0])) == CUT[0]
        assert "1 line" in await ask("search", text="1: line 7 of the listing")
        assert "Please look around." in await ask("recap", tokens=500)
        assert '"messages"' in await ask("inspect")
        assert "one session only" in await ask("show", what="0", session="another")
        assert "neither a hash nor a position" in await ask("show", what="../../etc/passwd")
        assert "window" in await ask("check")
        for huge in ({"what": "x" * 90_000}, {"what": "0", "session": "x" * 90_000}):
            assert len(await ask("show", **huge)) < MOST + 100
        for pattern in ("x" * 90_000, "(((" * 3_000, "(a|a)" * 900):
            assert len(await ask("search", text=pattern, is_pattern=True)) < MOST + 100


@pytest.mark.slow
def test_the_sdks_client_asks_a_session(tmp_path: Path) -> None:
    import asyncio

    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session()))
    assert condense("run", str(file), "--preset", "speed", "--in-place", "-q").status == 0
    (tmp_path / "condense.yaml").write_text("nonsense: [")  # Nobody said that this project is to be trusted.
    with unharmed(tmp_path):
        asyncio.run(talk(tmp_path, file))


# Clients in other languages send what the SDK's own cannot: half a character, as an escape of JSON.
@pytest.mark.parametrize(
    ("escaped", "read"),
    [("a\\ud800b", "a\ufffdb"), ("\\udc00\\ud83d\\ude00", "\ufffd\U0001f600"), ("\\\\ud800", "\\ud800")],
)
def test_half_a_character_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, escaped: str, read: str) -> None:
    from condense_cli.clients import mcp_server

    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines([*session(), {"role": "user", "content": "half \ud800 of it"}], ensure_ascii=True))
    is_over = Event()
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        *(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": SEARCH}).replace("TEXT", each)
            for number, each in ((1, escaped), (2, "of it"))
        ),
    ]

    class Answers(io.BytesIO):
        def write(self, data: Any, /) -> int:
            written = super().write(data)
            if self.getvalue().count(b"\n") == 3:
                is_over.set()
            return written

    class Client(io.BytesIO):
        """Goes away once everything is answered: before that the server would stop in the middle."""

        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            assert line or is_over.wait(30)
            return line

    answers = Answers()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Client("\n".join([*lines, ""]).encode())))
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(answers))
    mcp_server.serve(mcp_server.server(Library([], tmp_path, str(file)), UserConfiguration()))
    said = {each["id"]: each["result"] for each in map(json.loads, answers.getvalue().splitlines())}
    assert said[1]["content"][0]["text"] == f"No line of the session has {read!r} in it."
    assert "half ? of it" in said[2]["content"][0]["text"]


def test_arguments_of_odd_types_are_answered_or_refused(tmp_path: Path) -> None:
    import asyncio

    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import ValidationError

    from condense_cli.clients import mcp_server

    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session()))
    made = mcp_server.server(Library([], tmp_path, str(file)), UserConfiguration())

    async def ask() -> None:
        for tool in await made.list_tools():
            for key in tool.input_schema["properties"]:
                for odd in (*ODD, 10**30, "\x00", "\ud800", "9" * 400):
                    try:
                        await made.call_tool(tool.name, {"what": "0", "text": "x", key: odd})
                    except ToolError as error:
                        refused.append((tool.name, key, odd, error.__cause__))

    refused: list[tuple[Any, ...]] = []
    asyncio.run(ask())
    assert refused
    assert [each for each in refused if not isinstance(each[-1], ValidationError)] == []


def test_without_the_package_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mcp", "mcp.server", "condense_cli.clients.mcp_server"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = condense("mcp")
    assert ran.status == 2
    assert "-m pip install 'mcp>=" in ran.message


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)), b'{"role": "user", "conte', b"no\nline\nof JSON\n", b'{"a": 1}\n{"b": 2}\n', b"", None],
    ids=["binary", "torn", "text", "unknown", "empty", "missing"],
)
def test_a_file_that_cannot_be_read_is_refused_without_options_that_it_lacks(
    tmp_path: Path, data: bytes | None
) -> None:
    file = tmp_path / "session.jsonl"
    if data is not None:
        file.write_bytes(data)
    done = condense("mcp", file)
    assert done.status == ExitStatus.INPUT
    assert "session.jsonl" in done.message
    advice = [sentence for sentence in done.message.split(". ") if "condense run" not in sentence]
    assert not [sentence for sentence in advice if "--format" in sentence or "--lenient" in sentence]
