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
    "condense install claude-code       lets the client start it, and more\n"
    "condense mcp                       the sessions of this user's clients\n"
    "condense mcp session.jsonl         one session, and nothing else"
)


def mcp(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="The one session that may be read.")] = None,
    session: Session = None,
) -> None:
    """Serve sessions to a model that asks what markers stand for.

    Speaks MCP over standard input and output. Needs the extra mcp.

    Its tools read and change nothing: show (what a marker stands for), search (in the whole session, with line
    numbers), inspect, check and recap. Without FILE it reads the sessions in the folders of this user's clients, and
    no other file; with FILE, or --session, that one alone.
    """
    with exits():
        if file == "-":
            raise UsageError("Standard input is for the client; a session is a file.", "Name its file.")
        named = input_file(file, session, is_latest_said=False) if file or session else None
        try:
            from ...asking.server import server
        except ImportError as error:
            raise UsageError(
                "The server needs the package mcp, which is not installed.", "pip install 'condense-cli[mcp]'"
            ) from error
        from ...asking.library import Library
        from ...config.user import load_user_configuration
        from ..machine import session_places

        library = Library(session_places(), Path.cwd(), named)
        if named is not None:
            library.session()
        server(library, load_user_configuration()).run()
