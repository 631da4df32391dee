"""The shape of the house: imports point one way, files stay small, the main job goes through few of them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis.internal.conjecture import providers

from condense_cli.config.preset_folders import presets_folder

TESTS = Path(__file__).resolve().parent.parent
PACKAGE = TESTS.parent / "condense_cli"
FLOORS = [
    {"errors", "kernels"},
    {"core"},
    {"tokens"},
    {"toolcalls"},
    {"money", "rules"},
    {"formats", "config"},
    {"lossless", "repair"},
    {"ledger", "extractive"},
    {"passes", "quality"},
    {"storage"},
    {"llm", "window"},
    {"providers"},
    {"report"},
    {
        "plugins",
        "extending",
        "api",
        "calling",
        "delivering",
        "clients",
        "rows",
    },
    {"live"},
    {"proxy", "integrations"},
    {"ui"},
    {"cli", "__init__", "__main__"},
]
"""From the ground up: a module may import from its own floor and those below."""

FLOOR_OF = {name: level for level, names in enumerate(FLOORS) for name in names}
TOP = FLOOR_OF["api"]
OUTSIDE = {
    "fcntl", "os", "pathlib", "platformdirs", "random", "rich", "shutil", "signal", "socket", "sqlite3", "subprocess",
    "sys", "tempfile", "threading", "time", "typer",
}  # fmt: skip
"""Modules that reach files, clock, terminal or environment. In `report/` Rich makes what `cli/` prints."""

CALLS = {"print", "input", "open", "breakpoint"}
CLOCKS = {"now", "today", "utcnow"}
AT_THE_EDGE = {
    "tokens/token_table.py": {"pathlib", "sys"},
    "config/own.py": {"os", "pathlib"},
    "config/loading.py": {"pathlib"},
    "config/preset_folders.py": {"os", "pathlib"},
    "core/user_folders.py": {"os", "platformdirs", "sys"},
    "llm/budget.py": {"pathlib", "sqlite3"},
    "llm/cache.py": {"os", "pathlib"},
    "llm/calls.py": {"threading", "time"},
    "llm/access.py": {"pathlib"},
    "core/postponed.py": {"sys"},
    "core/selectors.py": {"time"},
    "quality/differences.py": {"random"},  # With a seed: a function of its arguments.
    "report/page/document.py": {"pathlib"},
    "report/lists/providers.py": {"pathlib"},
    "tokens/tiktoken_counter.py": {"os", "pathlib", "tempfile"},
}
"""The files below the topmost floors that reach outside, and how."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Everything in the code of a file."""
    return list(ast.walk(ast.parse(path.read_text())))


def room(path: Path) -> str:
    """The top-level module or package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def reached(path: Path) -> set[str]:
    """What of the world outside a file uses."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {node.func.id} & CALLS
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} & CLOCKS
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & OUTSIDE
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {(node.module or "").split(".")[0]} & OUTSIDE
    return found - {"rich"} if room(path) == "report" else found


def imported_rooms(path: Path) -> set[str]:
    """Rooms of this package that a file imports from, at any depth of its code."""
    rooms = set()
    depth = len(path.relative_to(PACKAGE).parts)
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level and node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            rooms |= {name if name in FLOOR_OF else "__init__" for name in names}
    return rooms


def imports(path: Path) -> Iterator[Path]:
    """The files of the package that a file imports, at its start, when it runs, or for type checkers alone."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for alias in node.names:
                for found in (
                    folder / f"{alias.name}.py",
                    folder / alias.name / "__init__.py",
                    folder.with_suffix(".py"),
                    folder / "__init__.py",
                ):
                    if found.is_file():
                        yield found
                        break


def circles() -> list[list[str]]:
    """Files that import each other, however far around."""
    graph = {path: {*imports(path)} for path in modules()}
    reach = {path: graph[path] - {path} for path in graph}
    changed = True
    while changed:
        changed = False
        for path, found in reach.items():
            more = found.union(*(reach[other] for other in found))
            if more != found:
                reach[path], changed = more, True
    together = {
        frozenset(other for other in found if path in reach[other]) for path, found in reach.items() if path in found
    }
    return sorted(sorted(str(path.relative_to(PACKAGE)) for path in group) for group in together)


@pytest.mark.slow
def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles() == []


MOST_FILES = 28
"""In one folder, beside its `__init__`: with more of them nobody finds a room."""


def test_no_folder_is_without_streets() -> None:
    folders = {path.parent for path in modules()}
    sizes = {str(folder.relative_to(PACKAGE)): len([*folder.glob("*.py")]) - 1 for folder in folders}
    assert {name: size for name, size in sizes.items() if size > MOST_FILES} == {}


def test_names_of_classes_are_told_apart() -> None:
    found = Counter(
        node.name
        for path in modules()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, times in found.items() if times > 1} == set()


def test_every_room_has_a_floor() -> None:
    assert {room(path) for path in modules()} == set(FLOOR_OF)


def test_imports_point_down() -> None:
    upward = [
        (path, name) for path in modules() for name in imported_rooms(path) if FLOOR_OF[name] > FLOOR_OF[room(path)]
    ]
    assert upward == []


# Below the topmost floors and beside the storage there are values alone: no files, clock, terminal or environment, but
# for what is listed.
def test_what_reaches_outside_is_listed() -> None:
    below = {
        str(path.relative_to(PACKAGE)): reached(path)
        for path in modules()
        if FLOOR_OF[room(path)] < TOP and room(path) != "storage"
    }
    assert {name: found for name, found in below.items() if found} == AT_THE_EDGE


def test_files_hold_one_subject_each() -> None:
    files = [*modules(), *TESTS.rglob("*.py")]
    sizes = {str(path.relative_to(PACKAGE.parent)): len(path.read_text().splitlines()) for path in files}
    assert {name: size for name, size in sizes.items() if size > 600} == {}


# What the API promises is what the package gives.
def test_the_public_names_exist() -> None:
    import condense_cli

    assert sorted(condense_cli.__all__) == condense_cli.__all__
    for name in condense_cli.__all__:
        assert getattr(condense_cli, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = condense_cli.nothing


# The layout of an installed wheel: presets inside the package, nothing beside it.
def test_presets_work_in_the_layout_of_a_wheel(tmp_path: Path) -> None:
    import shutil
    import subprocess
    import sys

    shutil.copytree(PACKAGE, tmp_path / "condense_cli")
    shutil.copytree(PACKAGE.parent / "presets", tmp_path / "condense_cli" / "presets")
    code = (
        "from condense_cli.config import loading, preset_folders\n"
        "print(preset_folders.presets_folder()); loading.load_preset('speed')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == (tmp_path / "condense_cli" / "presets").resolve()


# Presets are found beside the package in a source tree, and inside it in a wheel.
def test_presets_are_in_the_wheel(tmp_path: Path) -> None:
    import tomllib

    from condense_cli.config.preset_folders import preset_names, presets_folder

    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert shipped == {"presets": "condense_cli/presets"}
    assert presets_folder() == PACKAGE.parent / "presets"
    assert preset_names() == ["balanced", "cost", "lossless", "max", "quality", "speed"]


def test_generated_examples_are_the_same_whatever_is_imported() -> None:
    assert len(providers._get_local_constants()) == 0


MOST: Final = 90
"""Files of which some function runs. Fewer is better; a file more needs a reason."""

_TRACED: Final = """
import sys
from pathlib import Path
found = set()
def entered(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_flags & 1:
        found.add(code.co_filename)
sys.argv = ["condense", *sys.argv[1:]]
sys.setprofile(entered)
import condense_cli
from condense_cli.cli import main
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
package = Path(condense_cli.__file__).parent
own = [Path(name).relative_to(package).as_posix() for name in found if package in Path(name).parents]
print("FILES", *sorted(own), sep="\\n")
"""


@pytest.mark.slow
def test_the_main_job_goes_through_few_files(tmp_path: Path) -> None:
    sample = presets_folder().parent / "sample_transcripts" / "bugfix-session.jsonl"
    command = ["run", str(sample), "--preset", "speed", "-o", str(tmp_path / "small.jsonl")]
    done = subprocess.run(
        [sys.executable, "-c", _TRACED, *command], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    files = done.stdout.partition("FILES\n")[2].split()
    assert (tmp_path / "small.jsonl").exists()
    assert 50 < len(files) <= MOST, files
