"""What earlier versions wrote and left on a machine: every later one restores, shows and goes on with it."""

import json
import os
import shutil
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helpers import condense, snapshot
from yesterday.frozen import (
    CHANGED,
    Frozen,
    Replaced,
    content,
    digest,
    faults,
    manifest_of,
    shown,
    versions,
    with_answers,
)

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.llm.cache import Cache
from condense_cli.llm.prompts import PROMPT_VERSION
from condense_cli.rows.many_files import NAME, is_up_to_date, read_record

VERSIONS = [(folder, manifest_of(folder)) for folder in versions()]
FILES = [
    pytest.param(folder, frozen, id=f"{folder.name}/{frozen.file}")
    for folder, manifest in VERSIONS
    for frozen in manifest.files
]


@cache
def transcript(path: Path) -> Transcript:
    return api.loads(content(path))


# By place, so that a mark that is read differently is not taken for one of another text.
@pytest.mark.parametrize(("folder", "frozen"), FILES)
def test_it_reads_as_it_was_written(folder: Path, frozen: Frozen) -> None:
    condensed, original = transcript(folder / frozen.file), transcript(folder / frozen.input)
    assert condensed.format == frozen.format
    assert faults(condensed) == frozen.faults
    restored = api.dump(api.restore(condensed))
    assert digest(restored) == frozen.restored
    assert (digest(restored) == digest(original.source.data)) is frozen.is_whole
    assert not frozen.is_exact or restored == original.source.data
    assert {hash: shown(original, hash) for hash in frozen.shown} == frozen.shown


@pytest.mark.parametrize(("folder", "frozen"), FILES)
def test_a_second_run_changes_nothing(folder: Path, frozen: Frozen, tmp_path: Path) -> None:
    if frozen.needs_model and manifest_of(folder).prompts != PROMPT_VERSION:
        pytest.skip("the prompts of models are others by now")
    again = tmp_path / Path(frozen.file).name.removesuffix(".gz")
    env = with_answers(folder, tmp_path) if frozen.needs_model else {}
    # Earlier versions left old thinking, and their balanced more lines.
    more = [] if "--drop-thinking" in frozen.arguments else ["--keep-thinking"]
    more += ["--lossless-only"] if "balanced" in frozen.arguments else []
    # Version 0.1 had another name for a pattern to keep.
    named = " ".join(frozen.arguments).replace("--pin Decimal|schema", "--keep /Decimal|schema/").split()
    done = condense("run", frozen.file, *named, *more, "-o", again, "-q", env=env, cwd=folder)
    assert (done.status, done.stderr) == (0, "")
    assert again.read_bytes() == content(folder / frozen.file)


FOLDERS = [pytest.param(folder, id=folder.name) for folder in versions()]
REPLACED = [
    pytest.param(folder, replaced, id=f"{folder.name}/{replaced.file}")
    for folder in versions()
    for replaced in manifest_of(folder).replaced
]
BY_MODEL = [
    pytest.param(folder, frozen, id=f"{folder.name}/{frozen.file}")
    for folder in versions()
    for frozen in manifest_of(folder).files
    if frozen.needs_model
]
CONFIGURATIONS = [
    pytest.param(path, id=f"{folder.name}/{path.name}")
    for folder in versions()
    for path in sorted((folder / "configurations").iterdir())
]


@pytest.mark.parametrize(("folder", "replaced"), REPLACED)
def test_undo_brings_back_what_was_replaced(folder: Path, replaced: Replaced, tmp_path: Path) -> None:
    here = tmp_path / "here"
    shutil.copytree((folder / replaced.file).parent, here)
    file, whole = here / Path(replaced.file).name, content(folder / replaced.original)
    listed = condense("undo", file, "--list", "--json").json["backups"]
    assert [each["kind"] for each in listed] == ["undone" if replaced.undone else "backup"] * max(replaced.times, 1)
    if replaced.undone:
        assert file.read_bytes() == whole
        kept = (here / listed[0]["name"]).read_bytes()
        assert condense("undo", file, "--backup", listed[0]["name"], "--force").status == 0
        assert file.read_bytes() == kept
        return
    for _ in range(replaced.times):
        assert file.read_bytes() != whole
        assert condense("undo", file).status == 0
    assert file.read_bytes() == whole
    assert list(here.iterdir()) == [file]


# A session that went on since is told from one that condense wrote, by the name of the backup.
@pytest.mark.parametrize(("folder", "replaced"), REPLACED)
def test_undo_knows_what_came_later(folder: Path, replaced: Replaced, tmp_path: Path) -> None:
    here = tmp_path / "here"
    shutil.copytree((folder / replaced.file).parent, here)
    file = here / Path(replaced.file).name
    with file.open("ab") as opened:
        opened.write(b"{}\n")
    before = snapshot(here)
    done = condense("undo", file)
    assert (done.status != 0, snapshot(here)) == (True, before)
    assert replaced.undone or "1 line (3 bytes)" in done.message


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_answer_is_still_there(folder: Path, tmp_path: Path) -> None:
    with_answers(folder, tmp_path)
    path = tmp_path / "condense/summaries.sqlite3"
    with sqlite3.connect(path) as database:
        keys = [key for (key,) in database.execute("SELECT key FROM answers_1")]
    database.close()
    cache = Cache(path)
    answers = [cache.get(key) for key in keys]
    assert len(answers) >= 10
    assert all(answer and answer.text.startswith("The prices were read") for answer in answers)
    assert (cache.info().answers, cache.info().refused, cache.notes) == (len(keys), 0, [])
    cache.close()


UNCHECKED = {
    "blocks-by-model.json": "passes.0.individual_config.defaults.tool_results.params.summarize.validate.min_facts=0",
    "batch-by-model.json": "passes.0.batch_config.summarization_config.validate.min_facts=0",
    "native-by-model.json": "validate.min_facts=0",
}
"""The answers of the frozen model are all the same and hold no facts, which is asked of them by now."""


# Nothing listens where the model was: a call would fail, and is counted.
@pytest.mark.parametrize(("folder", "frozen"), BY_MODEL)
def test_answers_are_not_asked_for_again(folder: Path, frozen: Frozen, tmp_path: Path) -> None:
    if manifest_of(folder).prompts != PROMPT_VERSION:
        pytest.skip("the prompts of models are others by now")
    env = with_answers(folder, tmp_path)
    unchecked = ("--set", UNCHECKED[Path(frozen.arguments[1]).name])
    done = condense("run", frozen.input, *frozen.arguments, *unchecked, "-n", "--json", env=env, cwd=folder)
    assert done.status == 0, done.stderr
    (used,) = done.json["summaries"]
    assert (used["calls"], used["refused"]) == (0, 0)
    assert used["cached"] == used["written"] > 0


# What was remembered is what is found out, or it is not used: never something in between.
@pytest.mark.parametrize("folder", FOLDERS)
def test_sessions_are_listed_with_an_old_memory_as_without(folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "sessions"
    shutil.copytree(folder / "sessions", here)
    for path in here.rglob("*.jsonl"):
        os.utime(path, (CHANGED, CHANGED))
    remembered = tmp_path / "remembered/condense/sessions.sqlite3"
    remembered.parent.mkdir(parents=True)
    shutil.copyfile(folder / "caches/sessions.sqlite3", remembered)
    with sqlite3.connect(remembered) as database:
        paths = [path for (path,) in database.execute("SELECT path FROM facts")]
        for path in paths:
            whole = os.fsencode(here / os.fsdecode(path))
            database.execute("UPDATE facts SET path = ? WHERE path = ?", (whole, path))
    database.close()
    env = {"CLAUDE_CONFIG_DIR": str(here / "claude"), "CODEX_HOME": str(here / "codex"), "HOME": str(tmp_path)}
    old, new = (
        condense("sessions", "--json", env=env | {"XDG_CACHE_HOME": str(tmp_path / name)}).json["sessions"]
        for name in ("remembered", "anew")
    )
    assert old == new
    assert sorted(row["condensed"] for row in old) == [False, False, True, True]
    assert len(paths) == 4


NEW_DEFAULTS = {"min_saving": "0.5%"}
"""What a configuration that does not say it means in another way since: none that was frozen says it."""


# One that says the same decides the same; later versions may have more to say.
@pytest.mark.parametrize("path", CONFIGURATIONS)
def test_a_configuration_means_what_it_meant(path: Path, tmp_path: Path) -> None:
    assert condense("config", "validate", path).status == 0
    meant = json.loads((path.parent.parent / f"meanings/{path.name}.json").read_text())
    shown = condense("config", "show", "--config", path, "--json", cwd=tmp_path).json["configuration"]
    assert holds(shown, meant | NEW_DEFAULTS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_files_of_user_and_project_mean_what_they_meant(folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "project"
    shutil.copytree(folder / "project", here)
    (here / ".git").mkdir()
    env = {"XDG_CONFIG_HOME": str(folder / "own")}
    meant = json.loads((folder / "meanings/project.json").read_text())
    assert holds(condense("config", "show", "--json", env=env, cwd=here).json["configuration"], meant | NEW_DEFAULTS)
    profiles = condense("profiles", "--json", env=env, cwd=here).json["profiles"]
    assert {"openai", "anthropic"} <= {profile["name"] for profile in profiles}
    assert "team" in condense("presets", "list", env=env, cwd=here).text


def holds(value: Any, meant: Any) -> bool:
    """Whether a value says all that is meant, and perhaps more."""
    if isinstance(meant, dict):
        return isinstance(value, dict) and all(holds(value.get(key), each) for key, each in meant.items())
    if isinstance(meant, list):
        return isinstance(value, list) and len(value) == len(meant) and all(map(holds, value, meant))
    return bool(value == meant)


# What an earlier version wrote is left alone as long as this one would write the same; otherwise all is done again.
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_run_on_many_files_goes_on(folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "many"
    shutil.copytree(folder / "many", here)
    entries = read_record(here / "out")
    lines = [json.loads(line) for line in (folder / "many/out" / NAME).read_bytes().splitlines()]
    assert sorted(entries) == sorted(line["output"] for line in lines)
    assert all(is_up_to_date(entry, entry.made_from, here / "out" / name) for name, entry in entries.items())
    before = snapshot(here / "out")
    done = condense("run", "many/in", "--out-dir", "many/out", "-p", "speed", "-j", "1", "--json", cwd=tmp_path)
    assert done.status == 0, done.stderr
    totals = done.json["files"]
    assert (totals["total"], totals["failed"]) == (len(entries), 0)
    assert totals["up_to_date"] in (0, len(entries))
    assert snapshot(here / "out") == before or not totals["up_to_date"]


# Rows go through commands of their own.
@pytest.mark.parametrize("preset", ["lossless", "speed"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_rows_read_as_they_were_written(folder: Path, preset: str, tmp_path: Path) -> None:
    rows, again = folder / f"rows/{preset}.jsonl.gz", tmp_path / "rows.jsonl"
    assert condense("validate", rows).status == 0
    assert condense("run", rows, "-p", preset, "-o", again, "-q").status == 0
    assert again.read_bytes() == content(rows)
    assert condense("restore", rows, "-o", again, "-q").status == 0
    whole = content(folder / "rows/rows.jsonl.gz")
    assert (digest(again.read_bytes()) == digest(whole)) is (preset == "lossless")
    assert content(rows) != whole
