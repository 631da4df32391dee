"""`condense cache`: show or clear the answers of models that are kept so that nobody pays for them twice."""

from __future__ import annotations

import typer

from ...core.wording import plural, visible
from ...errors import OutputError
from ...llm.cache import Cache, cache_path
from ...report.sections import to_json
from ..commands.settings import ClearCache, ShowCache
from ..console import write_text


def show_cache(options: ShowCache) -> None:
    """Show the place and size of the cache. Raises OutputError."""
    cache = Cache(cache_path())
    found = cache.info()
    _close(cache)
    if options.json:
        facts = {"version": 1, "path": str(found.path), "answers": found.answers, "refused": found.refused}
        write_text(to_json({**facts, "bytes": found.bytes}))
        return
    typer.echo(visible(f"{found.path}: {plural(found.answers, 'answer')}, {found.bytes:,} bytes"))
    if found.refused:
        refused = plural(found.refused, "of them is a refusal", "of them are refusals")
        typer.echo(f"{refused}: empty, too long, or the model would not answer.")


def clear_cache(options: ClearCache) -> None:
    """Delete all answers. Raises OutputError."""
    cache = Cache(cache_path())
    count = cache.clear()
    _close(cache)
    typer.echo(f"Cleared: {plural(count, 'answer')}")


def _close(cache: Cache) -> None:
    cache.close()
    for note in cache.notes:
        raise OutputError(note)
