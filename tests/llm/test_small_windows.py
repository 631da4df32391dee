"""Models with small windows and few calls at a time: what is asked of them fits, or it is said why not."""

from __future__ import annotations

import model_server as played
import pytest
from build import assistant, read_turn, user
from desk import BY_MODEL, Desk
from helpers import as_lines, listing
from model_server import model_server

WINDOW = 9_000


# The session fits into the window; the usual length of a summary does not fit beside it.
@pytest.mark.parametrize("way", ["batch", "native"])
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_summary_fits_a_small_window_as_it_comes(desk: Desk, way: str, api: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, context_window=WINDOW)
        report = desk.report(way, "--profile", api, "--no-cache")
        assert server.calls >= 1
        limits = {body.get("max_completion_tokens") or body.get("max_tokens") for body in server.bodies}
    assert max(int(str(limit)) for limit in limits) <= WINDOW // 4
    assert report["tokens"]["saved"] > 0
    assert report["summaries"][0]["written"] == 1


# A session that is larger than the window goes in parts, of which each fits.
@pytest.mark.parametrize(("way", "api", "window"), [("batch", "openai", WINDOW), ("native", "anthropic", 4_096)])
def test_a_long_session_goes_in_parts(desk: Desk, way: str, api: str, window: int) -> None:
    turns = [each for n in range(30) for each in read_turn(f"toolu_{n}", f"{n}.py", listing(n))]
    desk.input.write_bytes(as_lines([user("Please look around."), *turns, assistant("Done.")]))
    names = " ".join(f"{n}.py" for n in range(30))  # Without them an answer lacks what a summary has to hold.
    with model_server(played.good(f"A short summary of {names}.")) as server:
        desk.profiles(server, context_window=window)
        report = desk.report(way, "--profile", api, "--no-cache")
        assert server.calls > 2
        assert max(len(str(body["messages"])) for body in server.bodies) < 4 * window
    assert report["summaries"][0]["written"] == 1
    assert not report["warnings"]


@pytest.mark.parametrize(("of_profile", "is_said"), [(1, True), (2, False), (5, False)])
def test_more_calls_at_a_time_than_the_profile_allows_are_told_of(desk: Desk, of_profile: int, is_said: bool) -> None:
    with model_server(played.good(BY_MODEL, together=min(2, of_profile))) as server:
        desk.profiles(server, max_parallel_calls=of_profile)
        report = desk.report("phases", "--profile", "openai", "--no-cache")
        assert server.most_at_once == min(2, of_profile)
    said = [warning for warning in report["warnings"] if "max_parallel_calls" in warning]
    assert said == (
        ["The configuration allows 2 parallel calls, the profile openai only 1 (max_parallel_calls)."]
        if is_said
        else []
    )
