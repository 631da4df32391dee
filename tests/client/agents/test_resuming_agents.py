"""opencode, pi, Gemini CLI and others send what our reader takes for the conversation, before and after condensing."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from helpers import condense

from condense_cli.formats import parse
from condense_cli.repair.mending import repair
from condense_cli.rules.validity import validate

from ..condensing import WAYS, condensed
from ..install import Clients
from ..resuming import NEXT
from .agent import Agent
from .cline import Cline
from .comparing import differences
from .copilot import Copilot
from .gemini import Gemini
from .kimi import Kimi
from .opencode import OpenCode
from .pi import Pi
from .qwen import Qwen

pytestmark = pytest.mark.client

AGENTS: dict[str, type[Agent]] = {
    "opencode": OpenCode,
    "pi": Pi,
    "gemini": Gemini,
    "qwen": Qwen,
    "kimi": Kimi,
    "cline": Cline,
    "copilot": Copilot,
}


@pytest.fixture(scope="module")
def recorded(request: pytest.FixtureRequest, clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Agent:
    agent = AGENTS[request.param](clients, tmp_path_factory.mktemp(request.param))
    agent.record()
    return agent


def unlike(agent: Agent, session: str, data: bytes) -> list[str]:
    """Where what the client sends of its session, with another request, differs from what our reader says."""
    ran = agent.run(NEXT, session=session)
    assert len(ran.requests) == 1, ran.output + ran.error
    told = (*agent.adds, NEXT, f'"{NEXT}"')
    return list(differences(parse(data), ran.requests[0], told, agent.around))


@pytest.fixture
def kept(recorded: Agent) -> Iterator[tuple[str, bytes]]:
    """The recorded session, whatever a test does with it."""
    session, data = recorded.session()
    yield session, data
    recorded.put(data)


@pytest.mark.parametrize("recorded", AGENTS, indirect=True)
def test_a_session_is_read_as_it_is_sent(recorded: Agent, kept: tuple[str, bytes]) -> None:
    session, data = kept
    transcript = parse(data)
    assert transcript.format == recorded.format
    assert validate(transcript) == []
    assert unlike(recorded, session, data) == []


# What `condense sessions` and `--session` find in the home that the client wrote.
@pytest.mark.parametrize("recorded", AGENTS, indirect=True)
def test_a_session_is_found(recorded: Agent, kept: tuple[str, bytes], tmp_path: Path) -> None:
    env = {"HOME": str(recorded.home), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": str(tmp_path)}
    (row,) = condense("sessions", "--json", env=env).json["sessions"]
    assert row["title"] in ("Give item 7 a name.", "Items")
    assert (row["project"], row["problem"]) == (str(recorded.project), None)
    assert (row["messages"], row["bytes"]) == (len(parse(kept[1]).messages), pytest.approx(len(kept[1]), rel=0.02))
    assert abs(datetime.fromisoformat(row["updated"]).timestamp() - time.time()) < 3600
    names = {row["id"], row["short"], "latest", kept[0]}  # The last as the client calls it: pi by a path.
    for name in (name for name in names if "/" not in name):
        assert condense("validate", "--session", name, env=env).status == 0, name


# A condensed session resumes in its place, or is imported, and sends what it says.
@pytest.mark.parametrize("recorded", AGENTS, indirect=True)
def test_a_condensed_session_resumes(recorded: Agent, kept: tuple[str, bytes], tmp_path: Path) -> None:
    session, before = kept
    results: dict[bytes, str] = {condensed(before, way, tmp_path): way for way in WAYS}  # Many are the same.
    for after, way in results.items():
        recorded.put(after)
        assert validate(parse(after)) == [], way
        assert unlike(recorded, session, after) == [], way


def damaged(data: bytes) -> bytes:
    """A session of lines loses one in the middle and half of the last one; one that is a document is cut off."""
    lines = data.rstrip(b"\n").split(b"\n")
    if len(lines) < 8 or not lines[-1].startswith(b"{"):
        return data[: -len(data) // 5]
    middle = len(lines) // 2
    return b"\n".join([*lines[:middle], *lines[middle + 1 : -1], lines[-1][: len(lines[-1]) // 2]])


# A session that was broken and mended resumes and sends what it says. Cline tells the model itself of the call that the
# damage leaves open at the end.
@pytest.mark.parametrize("recorded", [name for name in AGENTS if name != "cline"], indirect=True)
def test_a_mended_session_resumes(recorded: Agent, kept: tuple[str, bytes]) -> None:
    session, before = kept
    found = repair(damaged(before))
    assert found.changes
    assert validate(found.transcript) == []
    recorded.put(found.data)
    assert unlike(recorded, session, found.data) == []


# Gemini CLI goes on with a file from anywhere, too.
@pytest.mark.parametrize("recorded", ["gemini"], indirect=True)
def test_a_condensed_file_resumes_elsewhere(recorded: Agent, kept: tuple[str, bytes], tmp_path: Path) -> None:
    elsewhere = Gemini(recorded.clients, tmp_path / "home")
    elsewhere.project.mkdir(parents=True)
    file = tmp_path / "small.jsonl"
    file.write_bytes(condensed(kept[1], "balanced", tmp_path))
    assert file.read_bytes() != kept[1]
    assert unlike(elsewhere, str(file), file.read_bytes()) == []
