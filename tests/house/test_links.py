"""The pages: every link in them leads somewhere, and every page can be reached from the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from real import PROJECT

PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("benchmarks/*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def links(page: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, and the heading in each, if one is named."""
    local = [link for link in _LINK.findall(page.read_text()) if "://" not in link]
    parts = [link.partition("#") for link in local]
    return [((page.parent / name).resolve() if name else page, heading) for name, _, heading in parts]


def anchors(page: Path) -> set[str]:
    """The headings of a page as links spell them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in links(page):
        assert target.exists(), f"{page.name} links to {target}"
        assert not heading or heading in anchors(target), f"{page.name} links to {target.name}#{heading}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [PROJECT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [target for target, _ in links(page)]
    assert set(PAGES) <= reached
