"""Build a page as one HTML document: data as JSON beside a style and a script, and a policy that allows these alone.

The data holds no markup: it is in a block that is not a script, with `<`, `>` and `&` as JSON escapes, and the page's
own script shows it as text. The policy names style and script by their hashes, so that nothing else would run or be
loaded, even if it got in. `trusted-types 'none'` makes browsers refuse the functions that turn text into markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from ...core.wording import visible
from ..sections import Table, to_json_line


class PageTable(Struct, frozen=True):
    """A table of the page; a heading may be empty. The script sets a column of nothing but numbers flush right."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    @classmethod
    def of(cls, table: Table) -> PageTable:
        return cls(visible(table.title), [*table.columns], [[*map(visible, row)] for row in table.rows])


_FOLDER: Final = Path(__file__).parent
_SCRIPTS: Final[dict[str, tuple[str, ...]]] = {
    "run": ("elements.js", "summary.js", "strip.js", "blocks.js", "search.js", "run.js"),
    "evaluation": ("elements.js", "summary.js", "evaluation.js"),
}
"""Those of each kind of page, in the order in which they run, as one script."""

_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")

_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that could end the block of data or begin another one. JSON has them in strings only."""


def html_document(kind: str, title: str, data: Struct, figure: str = "") -> str:
    """Build the HTML page. Escapes `title`; `data` must be safe to show and `figure` trusted HTML."""
    style = _packaged(["style.css"])
    script = _packaged(_SCRIPTS[kind])
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    parts = {
        "policy": policy,
        "title": html.escape(visible(title)),
        "style": style,
        "body": _filled(f"{kind}.html", {"figure": figure}),
        "script": script,
        "data": to_json_line(data).translate(_ESCAPES),
    }
    return _filled("page.html", parts)


def _filled(name: str, parts: Mapping[str, str]) -> str:
    """Fill a template in one pass: a title or text may look like the place of another part."""
    return _PLACE.sub(lambda place: parts[place[1]], _packaged([name]))


def _packaged(names: Iterable[str]) -> str:
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
