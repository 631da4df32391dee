"""`condense mcp`: serve what markers replaced to a model."""

from __future__ import annotations

from pathlib import Path

from ...clients.mcp_tools import Library
from ...clients.table import session_places
from ...config.own import load_user_configuration
from ...errors import UsageError
from ...storage.extras import missing
from ..commands.session import McpOptions
from .reading import input_file


def mcp(options: McpOptions) -> None:
    """Serve until the client closes standard input. Raises CondenseError."""
    file, session = options.file, options.session
    if file == "-":
        raise UsageError("Standard input belongs to the client.", "Name its file.")
    named = input_file(file, session, is_latest_said=False) if file or session else None
    library = Library(session_places(), Path.cwd(), named)
    if named is not None:
        library.session()
    try:
        from ...clients.mcp_server import serve, server  # With the package mcp.
    except ImportError as error:
        raise missing("The MCP server needs the package mcp", "mcp") from error
    serve(server(library, load_user_configuration()))
