"""What earlier versions condensed: every later one restores, shows and validates it, and leaves it as it is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from helpers import condense
from yesterday.frozen import Frozen, content, digest, faults, manifest_of, shown, versions, with_answers

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.llm.prompts import PROMPT_VERSION

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
    done = condense("run", frozen.file, *frozen.arguments, *more, "-o", again, "-q", env=env, cwd=folder)
    assert (done.status, done.stderr) == (0, "")
    assert again.read_bytes() == content(folder / frozen.file)
