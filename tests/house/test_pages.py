"""The pages: links lead somewhere, what they say to run works, and what is made of tables is up to date."""

import contextlib
import importlib.util
import io
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers import condense
from real import PROJECT

from condense_cli.config.preset_folders import preset_names
from condense_cli.formats import FORMATS
from condense_cli.live.policies import policy_named

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


PAGE = (PROJECT / "docs" / "live.md").read_text()


def test_the_example_prints_what_the_page_shows() -> None:
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert match
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(match[1], {})
    assert printed.getvalue() == match[2]


def test_the_policies_exist() -> None:
    names = re.findall(r"^\| `(\w+:?[\d.]*)`.* \| when", PAGE, re.MULTILINE)
    assert len(names) == 4
    assert all(map(policy_named, names))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PROJECT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["make_formats", "make_options"])
def test_the_page_is_up_to_date(name: str) -> None:
    made = script(name)
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "make docs"


def test_every_format_has_notes() -> None:
    assert {form.name for form in FORMATS} == set(script("make_formats").NOTES)


TERMINALS = ["run.svg", "ui.svg", "ui-editor.svg"]


@pytest.mark.parametrize("name", TERMINALS)
def test_words_have_a_place_of_their_own(name: str) -> None:
    """Some viewers drop spaces at the ends of a text and ignore how long it should be, which moves what follows."""
    picture = (PROJECT / "docs" / name).read_text()
    words = re.findall(r'<text class="[^"]+" x="([\d.]+)" y="[\d.]+" textLength[^>]*>([^<]*)</text>', picture)
    assert len(words) > 50
    assert [word for _, word in words if "&#160;" in word] == []
    assert [x for x, _ in words if abs(float(x) / 12.2 - round(float(x) / 12.2)) > 0.01] == []


def test_the_picture_of_the_readme_can_be_read_on_light_and_dark_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "docs"))
    svg: Any = import_module("terminal_svg")
    dark, _, light = (PROJECT / "docs" / "run.svg").read_text().partition("@media (prefers-color-scheme: light)")
    for part, background in ((dark, svg.DARK), (light.partition("</style>")[0], svg.LIGHT)):
        colors = re.findall(r"-r\d+ \{ fill: (#[0-9a-f]{6})", part)
        assert len(colors) > 5
        assert [color for color in colors if svg.contrast(color, background) < svg.CONTRAST] == []
    assert svg.readable("#8a4346", svg.DARK) != "#8a4346"
    assert svg.readable("#c5c8c6", svg.DARK) == "#c5c8c6"


@pytest.mark.parametrize("name", TERMINALS)
def test_nothing_is_fetched(name: str) -> None:
    assert not re.search(r"@font-face|@import|url\(h|href=.http", (PROJECT / "docs" / name).read_text())


README = (PROJECT / "README.md").read_text()
COMMANDS = (PROJECT / "docs" / "commands.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", README + COMMANDS, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    shutil.copytree(PROJECT / "sample_transcripts", tmp_path / "sample_transcripts")
    return tmp_path


def test_the_readme_has_examples() -> None:
    assert CONSOLE
    assert PYTHON
    assert len(README.split()) < 1_500


# Before anything is installed: an environment of an older Python would stay, and pip's own words help nobody.
@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_an_older_python_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "hatch_build.py"):
        shutil.copy(PROJECT / name, tmp_path)
    older = tmp_path / "python"
    code = "import sys; sys.version_info = (3, 10, 12); exec(sys.argv[1])"
    older.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$2"\n')
    older.chmod(0o755)
    done = subprocess.run(
        ["make", "demo", f"PYTHON={older}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Python 3.11 or later" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("line", re.findall(r"(?m)^    (condense .*)$", README))
def test_commands_that_are_not_run_exist_with_their_options(line: str) -> None:
    """What follows two spaces says what a command does; what follows -- is a client's."""
    name, *words = re.split(r"\s{2,}|\s--\s", line)[0].split()[1:]
    page = condense(name, "--help-all").text
    options = [word for word in words if word.startswith("-")]
    assert [option for option in options if not re.search(rf"(?m)^  (-\w, )?{option}\b", page)] == []


def test_the_readme_names_every_preset() -> None:
    assert sorted(re.findall(r"(?m)^\| `(\w+)`", README)) == sorted(preset_names())


@pytest.mark.slow
@pytest.mark.parametrize("session", CONSOLE)
def test_console_sessions_print_what_they_show(session: str, workplace: Path) -> None:
    shown = ""
    printed = ""
    for line in session.splitlines():
        if not line.startswith("$ "):
            shown += line + "\n"
            continue
        command = line[2:].replace("condense ", f"{sys.executable} -m condense_cli ")
        done = subprocess.run(
            command, shell=True, cwd=workplace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
        )
        printed += done.stdout
    assert _without_prices(printed) == _without_prices(shown)


def _without_prices(output: str) -> str:
    """Prices come from a package that is updated, and what they decide comes from it too."""
    return re.sub(r"\$\d+\.\d+|\d+\.\d turns", "#", output)


@pytest.mark.parametrize("code", PYTHON)
def test_python_examples_run(code: str, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert isinstance(names["smaller"], bytes)
