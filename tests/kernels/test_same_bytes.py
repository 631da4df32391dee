"""What a conversation becomes is the same bytes whether kernels are compiled or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import real
from forms import Worker
from hypothesis import given
from hypothesis import strategies as st
from strategies import FILES, REPEATING_FILES

pytestmark = pytest.mark.slow

WAYS: list[dict[str, Any]] = [
    {"preset": "balanced"},
    {"preset": "balanced", "share": 40},
    {"preset": "max"},
    {"preset": "lossless"},
    {"preset": "speed", "share": 60},
]


@given(st.one_of(FILES, REPEATING_FILES))
def test_of_generated_files(
    workers: tuple[Worker, Worker], tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("file") / "session.jsonl"
    path.write_bytes(data)
    interpreted, compiled = (worker.condensed(path, *WAYS) for worker in workers)
    assert interpreted == compiled


@pytest.mark.parametrize(
    "path", real.some([path for path in real.all_files() if path.stat().st_size < 400_000]), ids=lambda path: path.stem
)
def test_of_recorded_files(workers: tuple[Worker, Worker], path: Path) -> None:
    interpreted, compiled = (worker.condensed(path, *WAYS[:3]) for worker in workers)
    assert interpreted == compiled
