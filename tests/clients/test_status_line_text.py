"""The status line: what a client says of window and cache, and what was measured."""

from pathlib import Path

import pytest

from condense_cli.clients import hooks

SESSION = "0b7e63aa-0000-4000-8000-000000000001"
CLIENT = "claude-code"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_status_line_has_share_cache_and_what_would_be_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_795_000_000.0)
    window = {"total_input_tokens": 124_000, "context_window_size": 200_000, "used_percentage": 62}
    cache = {"warm": True, "ttl": "5m", "expires_at": 1_795_000_240}
    given = {"session_id": SESSION, "context_window": window, "prompt_cache": cache}
    assert hooks.status_line(CLIENT, given) == "62% of 200k · cache warm 4 min"
    hooks.remember(CLIENT, SESSION, measured=124_000, frees=53_200)
    assert hooks.status_line(CLIENT, given) == "62% of 200k · cache warm 4 min · condensing frees 53k"
    given["prompt_cache"] = {"warm": False}
    window["total_input_tokens"] = 20_000
    window["used_percentage"] = 10
    assert hooks.status_line(CLIENT, given) == "10% of 200k · cache cold"


@pytest.mark.parametrize(
    ("expires", "left"),
    [("2026-11-18T11:10:30Z", " 4 min"), (1_795_000_030_000, " 30 s"), (1, ""), ("soon", ""), (None, ""), (1e300, "")],
)
def test_the_end_of_the_cache_is_read_in_the_ways_of_clients(
    monkeypatch: pytest.MonkeyPatch, expires: object, left: str
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_795_000_000.0)
    given = {"prompt_cache": {"warm": True, "expires_at": expires}}
    assert hooks.status_line(CLIENT, given) == f"cache warm{left}"


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), -1, 1e300, "x", None])
def test_what_is_no_number_is_left_out(odd: object) -> None:
    window = {"total_input_tokens": odd, "context_window_size": 200_000, "used_percentage": odd}
    assert hooks.status_line(CLIENT, {"context_window": window}) == "0% of 200k"
    assert hooks.status_line(CLIENT, {"context_window": {"context_window_size": odd}}) == ""


def test_the_line_is_there_where_nothing_can_be_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("no folder")
    window = {"total_input_tokens": 24_000, "context_window_size": 200_000}
    assert hooks.status_line(CLIENT, {"session_id": SESSION, "context_window": window}) == "12% of 200k"
