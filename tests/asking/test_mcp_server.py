"""The server as the SDK's own client sees it, over standard input and output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers import COMMAND, CUT, as_lines, condense, session, unharmed

from condense_cli.asking.pages import MOST
from condense_cli.core.markers import short_hash


async def talk(folder: Path, file: Path) -> None:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp", str(file)], cwd=str(folder))
    async with Client(stdio_client(parameters)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["check", "inspect", "recap", "search", "show"]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())

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


def test_without_the_package_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mcp", "mcp.server", "condense_cli.asking.server"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = condense("mcp")
    assert ran.status == 2
    assert "pip install 'condense-cli[mcp]'" in ran.message
