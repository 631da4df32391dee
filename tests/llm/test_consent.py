"""Nothing leaves this machine without the user's consent, and secrets are masked."""

from __future__ import annotations

import model_server as played
import pytest
from desk import BY_MODEL, WAYS, Desk
from helpers import as_lines, session
from model_server import model_server

from condense_cli.errors import ExitStatus


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_without_consent_nothing_is_called(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai")
        report = desk.report(way)
        done = desk.run(way)
        assert server.calls == 0
    (used,) = report["summaries"]
    assert used["profile"] == "offline"
    assert len([warning for warning in report["warnings"] if "without a model" in warning]) == 1
    assert done.stderr.count("Summaries were picked from the text") == 1
    assert report["tokens"]["saved"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--allow-calls"], []])
def test_consent_by_flag_or_by_the_users_own_configuration(desk: Desk, arguments: list[str]) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai" if arguments else "profile: openai\nallow_calls: true")
        desk.report("batch", *arguments)
        assert server.calls == 1


@pytest.mark.parametrize(
    "keys", [{"allow_calls": True}, {"profiles": {"x": {"api": "openai", "base_url": "http://x"}}}]
)
def test_a_configuration_cannot_permit_calls(desk: Desk, keys: dict[str, object]) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai")
        done = desk.run("batch", **keys)
        assert server.calls == 0
    assert done.status == ExitStatus.USAGE
    assert "batch.json:1:" in done.message
    assert not desk.output.exists()


@pytest.mark.slow
def test_a_configuration_may_name_a_profile_but_not_call_it(desk: Desk) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        desk.report("batch", profile="anthropic")
        assert server.calls == 0
        desk.report("batch", "--allow-calls", profile="anthropic")
        assert server.paths == ["/v1/messages"]


@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_profile_is_refused_with_the_nearest(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        done = desk.run(way, "--profile", "opnai")
        assert server.calls == 0
    assert done.status == ExitStatus.USAGE
    assert "Did you mean openai?" in done.message


@pytest.mark.slow
@pytest.mark.usefixtures("masking")
@pytest.mark.parametrize("way", WAYS)
def test_secrets_are_masked_before_they_are_sent(desk: Desk, way: str) -> None:
    secret = "sk-ant-api03-" + "Zq8R3kfT0vYw7LmN" * 5
    desk.input.write_bytes(as_lines(session([f"ANTHROPIC_API_KEY={secret}\n" + "a line of text\n" * 60] * 8)))
    with model_server(played.good(f"{BY_MODEL} ANTHROPIC_API_KEY is set.")) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", "openai", "--redact")
        assert server.calls > 0
        assert not any(secret in prompt for prompt in server.prompts())
        assert any("[secret 1]" in prompt for prompt in server.prompts())
        assert any("masked (--redact)" in warning for warning in report["warnings"])
        desk.report(way, "--profile", "openai")
        assert any(secret in prompt for prompt in server.prompts())
