"""Mutants of the modules that guard: small changes to their code, each of which a test, or mypy, has to notice.

    python tests/mutants/run.py [--list] [--all] [--children N] [MODULE…]

mutmut works in a copy of the project, `.mutants/NAME`, one for each module and with the fast tests of that module alone
(`modules.toml`), so that it is affordable. What survives is looked up in `survivors.toml`, where somebody wrote why it
may; anything else is printed, and the status is 1.

With `--all` the slow tests of a module, and more generated examples, meet what the fast ones let live. What they kill
is printed, and the status is 1 where the fast tests kill less than 95 % of what all of them kill.
"""

import argparse
import ast
import difflib
import os
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
FAST_SHARE: Final = 0.95
"""The fast tests kill at least this part of what all tests of a module kill."""
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
pytest_add_cli_args = [{options}]
also_copy = ["presets", "sample_transcripts", "docs", "README.md"]
do_not_mutate_patterns = ["case other:", "assert_never"]
"""
_OPTIONS: Final = ("-p", "no:xdist", "-p", "no:cacheprovider")
_ALL_OPTIONS: Final = ("-m", "not client and not integration")
"""As `make test-all` has it; without it the `-m` of pyproject.toml counts, which leaves the fast tests."""

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


def prepared(module: str, tests: Sequence[str], *, is_all: bool) -> Path:
    """A copy of the project for the mutants of one module; what an earlier run left goes: it knows no newer tests."""
    folder = WORK / (module.replace("/", ".") + ".all" * is_all)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        source, target = PROJECT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    options = (*_OPTIONS, *(_ALL_OPTIONS if is_all else ()))
    settings = _SETTINGS.format(module=module, tests=_quoted(tests), options=_quoted(options))
    if not is_all:  # What mypy refuses is left out before the slow tests begin.
        settings += f"type_check_command = [{_quoted(_MYPY)}]\n"
    (folder / "pyproject.toml").write_text((PROJECT / "pyproject.toml").read_text() + settings)
    return folder


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def mutmut(folder: Path, *arguments: str, profile: str = "unshrunk") -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": profile}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout


def statuses_of(folder: Path, children: int, *mutants: str, profile: str = "unshrunk") -> dict[str, str]:
    """What became of each mutant, or of those that are named; nothing if the run broke off."""
    log = mutmut(folder, "run", "--max-children", str(children), *mutants, profile=profile)
    (folder / "mutmut.log").write_text(log)
    found = dict(_STATUS.findall(mutmut(folder, "results", "--all", "true")))
    wanted = {mutant: found[mutant] for mutant in mutants or found if mutant in found}
    if wanted and UNRUN not in wanted.values():
        return wanted
    print(f"the run broke off; {folder / 'mutmut.log'} says why", flush=True)
    return {}


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


def check(module: str, tests: Sequence[str], children: int, *, is_all: bool) -> bool:
    """Let all mutants of a module go through its tests and print what came of them. False: something is wrong."""
    folder = prepared(module, tests, is_all=False)
    statuses = statuses_of(folder, children)
    if not statuses:
        return False
    known, changed = excused().get(module, {}), changes(folder, module)
    alive = [mutant for mutant, status in statuses.items() if status not in KILLED and status != REFUSED]
    left: list[str] = []
    kinds: Counter[str] = Counter()
    for mutant in alive:
        if (change := changed[mutant.rpartition(".")[2]]) in known:
            kinds[known[change]] += 1
        else:
            left.append(_told(f"{mutant} ({statuses[mutant]})", change))
    killed = sum(status in KILLED for status in statuses.values())
    tested = killed + len(alive)
    share = f"{100 * killed / max(1, tested):.1f}%"
    print(
        f"{module}: {len(statuses)} mutants, {len(statuses) - tested} refused by mypy; fast tests kill {killed} of the "
        f"other {tested} ({share}); {kinds['equivalent']} equivalent, {kinds['harmless']} harmless, {len(left)} left",
        *left,
        sep="\n",
        flush=True,
    )
    if not is_all or not alive:
        return not left
    slow = statuses_of(prepared(module, tests, is_all=True), children, *alive, profile="all")
    found = [mutant for mutant, status in slow.items() if status in KILLED]
    part = killed / max(1, killed + len(found))
    print(
        f"{module}: all tests kill {killed + len(found)}, of which the fast ones kill {100 * part:.1f}%",
        *(_told(mutant, changed[mutant.rpartition(".")[2]]) for mutant in found),
        sep="\n",
        flush=True,
    )
    return bool(slow) and not left and part >= FAST_SHARE


def _told(mutant: str, change: Change) -> str:
    function, was, becomes = change
    return f"  {mutant} in {function}\n- {was}\n+ {becomes}".replace("\n", "\n    ")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--list", action="store_true", help="print the modules that guard")
    parser.add_argument("--all", action="store_true", help="let slow tests meet what the fast ones let live")
    parser.add_argument("--children", type=int, default=2, help="processes side by side")
    given, modules = parser.parse_args(arguments), table()
    if given.list:
        print("\n".join(modules))
        return 0
    checked = [check(module, modules[module], given.children, is_all=given.all) for module in given.modules or modules]
    return int(not all(checked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
