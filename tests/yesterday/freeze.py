"""Freeze what this version writes, for the tests of all later ones.

    cd tests && python -m yesterday.freeze [NAME]

writes `yesterday/NAME/`; without a name it is the version's. A folder that is there is never changed.
"""

import gzip
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import model_server as played
from claude_tree import SESSION
from helpers import Outcome, as_lines, condense, session
from many_files import SHORT
from msgspec.structs import replace

import condense_cli
from condense_cli.config.preset_folders import preset_names
from condense_cli.formats import FORMATS
from condense_cli.llm.prompts import PROMPT_VERSION

from . import cases, sources
from .frozen import CHANGED, HERE, MANIFEST, Frozen, Manifest, Replaced, examined, spelled

ROLLOUT: Final = "0199a213-81c0-7800-8aa1-bbab2a035a53"
_LARGE: Final = 10_000
"""Files of more bytes are compressed."""


class Freezing:
    """The folder of a version while it is written; `home` is a throw-away one."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.home = folder, home
        self.files: list[Frozen] = []
        self.replaced: list[Replaced] = []

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def run(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Outcome:
        """A command in the folder. Exits where it fails: then nothing is frozen."""
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(self.home))
        done = condense(*arguments, env={**homes, **(env or {})}, cwd=self.folder)
        if done.status:
            sys.exit(f"condense {' '.join(map(str, arguments))}: {done.status} {done.stderr}")
        return done

    def case(self, case: cases.Case, env: Mapping[str, str] | None = None) -> None:
        """A condensed file with what there is to know about it."""
        path = self.folder / case.output
        path.parent.mkdir(parents=True, exist_ok=True)
        self.run("run", case.input, *case.arguments, "-o", case.output, "-q", env=env)
        self.files.append(examined(self.folder, case.output, case.input, case.arguments))


def freeze(folder: Path, home: Path) -> None:
    work = Freezing(folder, home)
    inputs = {f"inputs/{name}": data for name, data in sources.inputs().items()}
    for name, data in inputs.items():
        work.write(name, data)
    runs = _configurations(work)
    planned = [*cases.on_inputs(inputs, runs)]
    for case in planned:
        if not case.needs_model:
            work.case(case)
    _grown(work)
    _by_model(work, [case for case in planned if case.needs_model])
    _in_place(work)
    _sessions(work)
    _many(work)
    _check(work.files)
    listed = Manifest(condense_cli.__version__, PROMPT_VERSION, work.files, work.replaced)
    (folder / MANIFEST).write_bytes(spelled(_packed(folder, listed)))


def _check(files: list[Frozen]) -> None:
    """Exits where a format has no condensed file, or one without loss is not restored to its input."""
    missing = {form.name for form in FORMATS if form.is_writable} - {frozen.format for frozen in files}
    broken = [frozen.file for frozen in files if "lossless" in frozen.arguments and not frozen.is_exact]
    if missing or broken:
        sys.exit(f"without an input: {sorted(missing)}; not restored: {broken}")


def _configurations(work: Freezing) -> list[str]:
    """Every configuration that the program writes, and its examples; gives those to run with."""
    (work.folder / "configurations").mkdir()
    starters = ["configurations/starter.yaml", "configurations/starter.json"]
    for file in starters:
        work.run("presets", "new", file)
    for preset in preset_names():
        work.run("presets", "new", f"configurations/from-{preset}.yaml", "--from", preset)
    work.run("presets", "new", "configurations/from-cost.json", "--from", "cost")
    examples = sorted((sources.SAMPLES.parent / "presets" / "examples").glob("*.yaml"))
    named = [f"configurations/{path.name}" for path in examples]
    for name, path in zip(named, examples, strict=True):
        work.write(name, path.read_bytes())
    for name, configuration in cases.BY_MODEL.items():
        work.write(f"configurations/{name}", json.dumps(configuration, indent=1).encode() + b"\n")
    work.write("own/condense/condense.yaml", cases.OWN.encode() + b"\n")
    work.write("project/condense.yaml", cases.PROJECT.encode())
    work.write("project/.condense/presets/team.yaml", cases.TEAM.encode())
    for path in sorted((work.folder / "configurations").iterdir()):
        told = work.run("config", "show", "--config", path, "--json").json["configuration"]
        work.write(f"meanings/{path.name}.json", json.dumps(_said(told), indent=1).encode() + b"\n")
    (work.folder / "project/.git").mkdir()  # Where the search for the project's file ends.
    here = {"XDG_CONFIG_HOME": str(work.folder / "own")}
    told = condense("config", "show", "--json", env=here, cwd=work.folder / "project").json["configuration"]
    work.write("meanings/project.json", json.dumps(_said(told), indent=1).encode() + b"\n")
    (work.folder / "project/.git").rmdir()
    return [*starters, *named]


def _said(value: object) -> object:
    """A configuration without what it leaves open: later versions may have more of that."""
    if isinstance(value, dict):
        return {key: _said(each) for key, each in value.items() if each is not None}
    return [_said(each) for each in value] if isinstance(value, list) else value


def _grown(work: Freezing) -> None:
    """Sessions that were condensed and went on, condensed again."""
    for name in cases.GROWN:
        stem, _, suffix = name.partition(".")
        path = work.folder / f"condensed/{stem}/max.{suffix}"
        grown = work.write(f"inputs/grown-{name}", sources.grown(name, path.read_bytes()))
        for way, arguments in {"max": ("--preset", "max"), "target": cases.TARGET}.items():
            work.case(cases.Case(f"inputs/{grown.name}", way, arguments))


def _by_model(work: Freezing, runs: list[cases.Case]) -> None:
    """Summaries of a model, which a server plays, and the cache of its answers."""
    cache = work.home / "cache"
    env = {"XDG_CONFIG_HOME": str(work.folder / "own"), "XDG_CACHE_HOME": str(cache)}
    env |= {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-ant-test", "NO_PROXY": "", "no_proxy": ""}
    with played.model_server(played.good("The prices were read and corrected.")) as server:
        for case in runs:
            work.case(case, env | {"HTTP_PROXY": server.url, "http_proxy": server.url})
    (work.folder / "caches").mkdir(exist_ok=True)
    _closed(cache / "condense/summaries.sqlite3", work.folder / "caches/summaries.sqlite3")


def _closed(cache: Path, to: Path) -> None:
    """A copy of a cache without the files that SQLite keeps beside it."""
    database = sqlite3.connect(cache)
    database.execute("VACUUM")  # Nothing of what stood there before, such as the paths of this machine.
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    shutil.copyfile(cache, to)


def _in_place(work: Freezing) -> None:
    """Files that were replaced, with their backups; one that was brought back though it had gone on."""
    for name in ("claude-code.jsonl", "roo.json", "openai-chat.jsonl"):
        file = f"in-place/{name.partition('.')[0]}/{name}"
        path = work.write(file, (work.folder / "inputs" / name).read_bytes())
        work.run("run", path, "--preset", "speed", "--keep-recent", "9", "--in-place", "-q")
        work.run("run", path, "--preset", "max", "--in-place", "-q")
        work.replaced.append(Replaced(file, f"inputs/{name}", 2))
    path = work.write("in-place/undone/session.jsonl", (work.folder / "inputs/openai-chat.jsonl").read_bytes())
    work.run("run", path, "--preset", "speed", "--in-place", "-q")
    with path.open("ab") as opened:
        opened.write(as_lines([{"role": "user", "content": "And now?"}]))
    work.run("undo", path, "--force", "-q")
    work.replaced.append(Replaced("in-place/undone/session.jsonl", "inputs/openai-chat.jsonl", 0, undone=True))


def _sessions(work: Freezing) -> None:
    """Sessions where their clients keep them, condensed ones beside them, and what listing them remembers."""
    claude = work.write(
        f"sessions/claude/projects/-home-dev-inventory/{SESSION}.jsonl",
        (work.folder / "inputs/claude-code.jsonl").read_bytes(),
    )
    codex = work.write(
        f"sessions/codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-{ROLLOUT}.jsonl",
        (work.folder / "inputs/codex.jsonl").read_bytes(),
    )
    for path in (claude, codex):
        work.run("run", path, "--preset", "speed", "--new-session", "-q")
        (new,) = (found for found in path.parent.iterdir() if found != path)
        file = new.relative_to(work.folder).as_posix()
        work.files.append(examined(work.folder, file, path.relative_to(work.folder).as_posix(), ("--preset", "speed")))
    for path in (work.folder / "sessions").rglob("*.jsonl"):
        os.utime(path, (CHANGED, CHANGED))
    folder = work.folder / "sessions"
    cache = work.home / "listed"
    env = {"CLAUDE_CONFIG_DIR": str(folder / "claude"), "CODEX_HOME": str(folder / "codex")}
    work.run("sessions", "--json", env={**env, "XDG_CACHE_HOME": str(cache)})
    to = work.folder / "caches/sessions.sqlite3"
    _closed(cache / "condense/sessions.sqlite3", to)
    with sqlite3.connect(to) as database:
        for (path,) in database.execute("SELECT path FROM facts").fetchall():
            below = os.path.relpath(os.fsdecode(path), folder)
            database.execute("UPDATE facts SET path = ? WHERE path = ?", (below.encode(), path))
    database.close()
    _closed(to, to.with_name("copy"))
    to.with_name("copy").replace(to)


def _many(work: Freezing) -> None:
    """A folder of files, what became of them, and the record of that."""
    work.write("many/in/a.jsonl", as_lines(session()))
    work.write("many/in/deep/short.jsonl", SHORT)
    rows = [{"id": number, "messages": sources.chat(f"_{number}"), "note": "größer"} for number in range(2)]
    work.write("many/in/rows.jsonl.gz", gzip.compress(as_lines(rows), 9, mtime=0))
    work.run("run", "many/in", "--out-dir", "many/out", "--preset", "speed", "-j", "1", "-q")
    work.write("rows/rows.jsonl.gz", gzip.compress(as_lines(rows), 9, mtime=0))
    for preset in ("lossless", "speed"):
        work.run("run", "rows/rows.jsonl.gz", "--preset", preset, "-o", f"rows/{preset}.jsonl.gz", "-q")


def _packed(folder: Path, listed: Manifest) -> Manifest:
    """The list, once the large files of what it lists are compressed; sessions and backups stay as they are."""
    renamed = {}
    for top in ("inputs", "condensed"):
        for path in sorted((folder / top).rglob("*.*")):
            if path.stat().st_size > _LARGE:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
                path.unlink()
                name = path.relative_to(folder).as_posix()
                renamed[name] = f"{name}.gz"
    files = [
        replace(each, file=renamed.get(each.file, each.file), input=renamed.get(each.input, each.input))
        for each in listed.files
    ]
    replaced = [replace(each, original=renamed.get(each.original, each.original)) for each in listed.replaced]
    return replace(listed, files=files, replaced=replaced)


def main(name: str) -> None:
    folder = HERE / name
    if folder.exists():
        sys.exit(f"{folder} is there already, and what a version froze never changes.")
    with tempfile.TemporaryDirectory() as home:
        writing = Path(home) / name
        writing.mkdir()
        (Path(home) / "home").mkdir()
        freeze(writing, Path(home) / "home")
        shutil.copytree(writing, folder)
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    print(f"{folder}: {len(sizes):,} files, {sum(sizes):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else condense_cli.__version__)
