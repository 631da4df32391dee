"""Tests with the packages of others are imported only where they are asked for: that alone takes many seconds."""

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_asked_for = config.option.markexpr == "integration"
    return None if is_asked_for or not collection_path.name.startswith("test_") else True


@pytest.fixture(autouse=True)
def sockets_of_others() -> Iterator[None]:
    """Frameworks leave connections and event loops to the collector, and the next test would be blamed."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
