"""Mutants of the modules that guard: small changes to their code, each of which a test, or mypy, has to notice.

    python tests/mutants/run.py [--list] [MODULE…]

mutmut works in a copy of the project, `.mutants/NAME`, one for each module and with the tests of that module alone
(`modules.toml`), so that it is affordable. What survives is looked up in `survivors.toml`, where somebody wrote why it
may; anything else is printed, and the status is 1.
"""

from __future__ import annotations

import ast
import difflib
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
PROJECT: Final = HERE.parent.parent
WORK: Final = PROJECT / ".mutants"
COPIED: Final = ("condense_cli", "tests", "presets", "sample_transcripts", "docs", "README.md", "pyproject.toml")
KILLED: Final = frozenset({"killed", "timeout"})
REFUSED: Final = "caught by type check"
"""By mypy, so that no test need notice; such mutants are left out of the figures."""
UNRUN: Final = "not checked"
_STATUS: Final = re.compile(r"^\s*(\S+__mutmut_\d+): (.+)$", re.MULTILINE)

_SETTINGS: Final = """
[tool.mutmut]
source_paths = ["condense_cli"]
only_mutate = ["condense_cli/{module}.py"]
pytest_add_cli_args_test_selection = [{tests}]
pytest_add_cli_args = ["-p", "no:xdist", "-p", "no:cacheprovider"]
also_copy = ["presets", "sample_transcripts", "docs", "README.md"]
do_not_mutate_patterns = ["case other:", "assert_never"]
type_check_command = [{mypy}]
"""

_MYPY: Final = (
    *(sys.executable, "-m", "mypy", "condense_cli", "--output", "json", "--disable-error-code", "unused-ignore"),
    *("--cache-dir", str(WORK / "mypy")),
)

Change = tuple[str, str, str]
"""A function, lines of it, and what they are in a mutant; without the blanks around them."""


def table() -> dict[str, list[str]]:
    """The modules that guard, each with its tests, by their names without `condense_cli/` and `.py`."""
    modules = tomllib.loads((HERE / "modules.toml").read_text())
    return {module: [_place(f"test_{name}.py") for name in names] for module, names in modules.items()}


def _place(file: str) -> str:
    [path] = HERE.parent.rglob(file)
    return path.relative_to(PROJECT).as_posix()


def excused() -> dict[str, dict[Change, str]]:
    """Survivors that somebody looked at, by module: the change and its kind, `equivalent` or `harmless`."""
    found: dict[str, dict[Change, str]] = {}
    for module, survivors in tomllib.loads((HERE / "survivors.toml").read_text()).items():
        for survivor in survivors:
            assert survivor["why"].strip(), f"{module}: {survivor['was']} has no reason"
            change = survivor["function"], survivor["was"].strip(), survivor["becomes"].strip()
            found.setdefault(module, {})[change] = survivor["kind"]
    return found


def prepared(module: str, tests: Sequence[str]) -> Path:
    """A copy of the project for the mutants of one module; what an earlier run left goes: it knows no newer tests."""
    folder = WORK / module.replace("/", ".")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        source, target = PROJECT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    settings = _SETTINGS.format(module=module, tests=_quoted(tests), mypy=_quoted(_MYPY))
    (folder / "pyproject.toml").write_text((PROJECT / "pyproject.toml").read_text() + settings)
    return folder


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def mutmut(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def changes(folder: Path, module: str) -> dict[str, Change]:
    """What each mutant changes, by its name; mutmut writes all of them into one file, each as a whole function."""
    text = (folder / "mutants" / "condense_cli" / f"{module}.py").read_text()
    lines = text.splitlines()
    bodies = {
        node.name: [line.strip() for line in lines[node.lineno : node.end_lineno]]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and "__mutmut_" in node.name
    }
    found: dict[str, Change] = {}
    for name, body in bodies.items():
        differences = list(difflib.ndiff(bodies[re.sub(r"\d+$|orig$", "orig", name)], body))
        was, becomes = ("\n".join(line[2:] for line in differences if line[0] == sign) for sign in "-+")
        function = name.partition("__mutmut_")[0].removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
        found[name] = function, was, becomes
    return found


def check(module: str, tests: Sequence[str]) -> bool:
    """Let all mutants of a module go through its tests and print what came of them. False: one survived unexcused."""
    folder = prepared(module, tests)
    log = mutmut(folder, "run", "--max-children", "2")
    (folder / "mutmut.log").write_text(log)
    statuses = dict(_STATUS.findall(mutmut(folder, "results", "--all", "true")))
    if not statuses or UNRUN in statuses.values():
        print(f"{module}: the run broke off; {folder / 'mutmut.log'} says why", flush=True)
        return False
    known, changed = excused().get(module, {}), changes(folder, module)
    left: list[tuple[str, Change]] = []
    kinds: Counter[str] = Counter()
    for mutant, status in statuses.items():
        if status in KILLED or status == REFUSED:
            continue
        change = changed[mutant.rpartition(".")[2]]
        if change in known:
            kinds[known[change]] += 1
        else:
            left.append((f"{mutant} ({status})", change))
    killed = sum(status in KILLED for status in statuses.values())
    refused = sum(status == REFUSED for status in statuses.values())
    tested = len(statuses) - refused
    share = f"{100 * killed / max(1, tested):.1f}%"
    print(
        f"{module}: {len(statuses)} mutants, {refused} refused by mypy; tests kill {killed} of the other {tested} "
        f"({share}); {kinds['equivalent']} equivalent, {kinds['harmless']} harmless, {len(left)} left",
        flush=True,
    )
    for name, (function, was, becomes) in left:
        print(f"  {name} in {function}\n- {was}\n+ {becomes}".replace("\n", "\n    "), flush=True)
    return not left


def main(arguments: Sequence[str]) -> int:
    modules = table()
    if "--list" in arguments:
        print("\n".join(modules))
        return 0
    checked = [check(module, modules[module]) for module in arguments or modules]
    return int(not all(checked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
