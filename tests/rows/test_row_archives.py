"""Logs of Inspect AI with many samples are sets of rows, one for each sample."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
import real
from helpers import condense

from condense_cli.errors import ExitStatus
from condense_cli.rows.archives import samples_of

SAMPLE = json.loads((real.PROJECT / "sample_transcripts" / "bugfix-inspect.json").read_bytes())["samples"][0]


def archive(path: Path, *samples: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", "{}")
        for number, sample in enumerate(samples):
            file.writestr(f"samples/{number}_epoch_1.json", sample)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return archive(tmp_path / "log.eval", *(json.dumps({**SAMPLE, "id": n}, indent=2) for n in range(3)))


@pytest.mark.slow
def test_each_sample_is_a_row(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.jsonl"
    done = condense("run", str(log), "--preset", "max", "-o", str(out), "-j", "1")
    assert done.status == ExitStatus.DONE, done.stderr
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert all(len(str(row["messages"])) < len(str(SAMPLE["messages"])) for row in rows)
    inspected = json.loads(condense("inspect", str(log), "--json").stdout)
    assert inspected["rows"] == 3


# A log of one sample is a transcript; what is broken says where.
def test_other_archives(tmp_path: Path) -> None:
    one = archive(tmp_path / "one.eval", json.dumps(SAMPLE))
    assert "inspect-eval" in condense("validate", str(one)).text
    broken = archive(tmp_path / "broken.eval", json.dumps(SAMPLE), json.dumps(SAMPLE))
    data = bytearray(broken.read_bytes())
    at = data.index(b"samples/1_epoch_1.json") + 60
    data[at : at + 40] = bytes(40)
    broken.write_bytes(data)
    refused = condense("validate", str(broken))
    assert refused.status == ExitStatus.INPUT
    assert "samples/1_epoch_1.json" in refused.stderr


# The first archive needs a ZIP that is not there yet, the second has a name that is no UTF-8.
@pytest.mark.parametrize(("at", "new"), [(6, b"\x63"), (8, b"\x00\x08")])
def test_archives_that_cannot_be_opened_hold_no_samples(tmp_path: Path, at: int, new: bytes) -> None:
    path = archive(tmp_path / "log.eval", "{}", "{}")
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + at : entry + at + len(new)] = new
    data[entry + 46] = 0xFF
    with pytest.raises((NotImplementedError, UnicodeDecodeError)):
        zipfile.ZipFile(io.BytesIO(data))
    assert samples_of(io.BytesIO(data)) == []
    path.write_bytes(data)
    assert condense("validate", str(path)).status == ExitStatus.INPUT
