"""`condense mcp`: a server that models ask what markers stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...errors import UsageError
from ..console import exits
from ..options import Session
from ..reading import input_file

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense install claude-code       sets it up in Claude Code\n"
    "condense mcp                       all sessions of your clients\n"
    "condense mcp session.jsonl         only this session"
)


def mcp(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="The only session it may read.")] = None,
    session: Session = None,
) -> None:
    """Let a model look up what markers replaced (MCP server).

    Speaks MCP over standard input and output; needs the extra mcp. Its tools only read: show (what a marker replaced),
    search (the whole session, with line numbers), inspect, check and recap. Without FILE it reads all sessions of your
    clients and no other file; with FILE or --session, only that one.
    """
    with exits():
        if file == "-":
            raise UsageError("Standard input belongs to the client.", "Name its file.")
        named = input_file(file, session, is_latest_said=False) if file or session else None
        try:
            from ...clients.mcp_server import serve, server
        except ImportError as error:
            raise UsageError(
                "The MCP server needs the package mcp, which is not installed.", "pip install 'condense-cli[mcp]'"
            ) from error
        from ...clients.mcp_tools import Library
        from ...clients.table import session_places
        from ...config.files import load_user_configuration

        library = Library(session_places(), Path.cwd(), named)
        if named is not None:
            library.session()
        serve(server(library, load_user_configuration()))
