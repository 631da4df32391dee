"""`condense cache`: the answers of models that are kept so that nobody pays for them twice."""

from __future__ import annotations

from typing import Annotated

import typer

from ...core.wording import plural
from ...errors import OutputError
from ...report.text.visible import visible
from ..console import exits, write_text
from ..named_things import group_of

cache_app = typer.Typer(
    cls=group_of("info"),
    help="Show or clear the cache of summaries.",
    epilog="Examples:\n\n\b\ncondense cache\ncondense cache clear",
    rich_markup_mode=None,
)


@cache_app.command("info")
def info(json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> None:
    """Show where the cache is and what it holds.

    Examples:

    \b
    condense cache info
    condense cache info --json | jq .bytes
    """
    with exits():
        from ...llm.cache import Cache, cache_path
        from ...report.run.facts import to_json

        cache = Cache(cache_path())
        found = cache.info()
        cache.close()
        for note in cache.notes:
            raise OutputError(note)
        if json:
            facts = {"version": 1, "path": str(found.path), "answers": found.answers, "refused": found.refused}
            write_text(to_json({**facts, "bytes": found.bytes}))
            return
        typer.echo(visible(f"{found.path}: {plural(found.answers, 'answer')}, {found.bytes:,} bytes"))
        if found.refused:
            refused = plural(found.refused, "of them is a refusal", "of them are refusals")
            typer.echo(f"{refused}: empty, too long, or the model would not answer.")


@cache_app.command("clear")
def clear() -> None:
    """Forget every answer. The next run that wants one pays for it again.

    Examples:

    \b
    condense cache clear
    """
    with exits():
        from ...llm.cache import Cache, cache_path

        cache = Cache(cache_path())
        count = cache.clear()
        cache.close()
        for note in cache.notes:
            raise OutputError(note)
        typer.echo(f"Cleared: {plural(count, 'answer')}")
