"""Claude Code and Codex resume sessions that were broken and mended, and send what our reader says."""

import json
from collections.abc import Callable, Sequence
from typing import Final

import pytest
from broken import broken

from condense_cli.formats import parse
from condense_cli.repair.mending import repair

from . import claude_plan, codex_plan
from .claude import ClaudeCode
from .claude_messages import differences
from .codex import Codex
from .codex_items import differences as codex_differences
from .command import condense
from .install import Clients
from .resuming import ANY_ID, NEXT, Rollout, Session, resume_rollout, resume_session

pytestmark = pytest.mark.client

Lines = Sequence[bytes]
CASES = [name for name, case in broken().items() if b'"isSidechain"' in case.data]


@pytest.mark.parametrize("name", CASES)
def test_claude_code_resumes_a_mended_session(claude: ClaudeCode, name: str) -> None:
    mended = repair(broken()[name].data)
    assert mended.changes
    transcript, request = resume_session(claude, Session.of(mended.data))
    assert differences(transcript, request, NEXT) == []


def messages_of(lines: Lines) -> list[int]:
    """Numbers of the lines that are messages."""
    return [n for n, line in enumerate(lines) if b'"role":' in line and b'"parentUuid":' in line]


def without(number: int) -> Callable[[Lines], Lines]:
    def dropped(lines: Lines) -> Lines:
        gone = messages_of(lines)[number]
        return [line for n, line in enumerate(lines) if n != gone]

    return dropped


def torn(lines: Lines) -> Lines:
    """The last two thirds of the last message are gone, and what is written next is behind it."""
    last = messages_of(lines)[-1]
    return [
        *lines[:last],
        lines[last][: len(lines[last]) // 3] + b"".join(lines[last + 1 : last + 2]),
        *lines[last + 2 :],
    ]


def zeroed(lines: Lines) -> Lines:
    middle = messages_of(lines)[6]
    return [*lines[:middle], b"\0" * len(lines[middle]), *lines[middle + 1 :]]


def doubled(lines: Lines) -> Lines:
    middle = messages_of(lines)[5]
    return [*lines[: middle + 1], lines[middle], *lines[middle + 1 :]]


DAMAGES: Final[dict[str, Callable[[Lines], Lines]]] = {
    **{f"message {number} is lost": without(number) for number in (1, 2, 3, 4, 5)},
    "a torn line": torn,
    "zeros": zeroed,
    "a copy": doubled,
}


@pytest.fixture(scope="module")
def recorded(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A session with many calls, as the client writes it."""
    client = ClaudeCode(clients.program("claude"), tmp_path_factory.mktemp("recorded"))
    claude_plan.prepare(client.project)
    turns = claude_plan.turns(client.project)
    assert client.start("Give item 7 a name.", turns, ANY_ID).status == 0
    return client.session(ANY_ID).read_bytes()


@pytest.mark.parametrize("damage", DAMAGES)
def test_claude_code_resumes_its_own_session_mended(claude: ClaudeCode, recorded: bytes, damage: str) -> None:
    broken_file = b"\n".join(DAMAGES[damage](recorded.split(b"\n")))
    mended = repair(broken_file)
    assert mended.changes
    transcript, request = resume_session(claude, Session(mended.data, ANY_ID))
    assert differences(transcript, request, NEXT) == []
    # The conversation reaches back to its beginning.
    assert len(transcript.messages) > len(parse(recorded, format="claude-code").messages) - 4


@pytest.fixture(scope="module")
def rollout(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Rollout:
    client = Codex(clients.program("codex"), tmp_path_factory.mktemp("rollout"))
    codex_plan.prepare(client.project)
    assert client.start("Give item 7 a name.", codex_plan.turns()).status == 0
    (path,) = client.rollouts()
    return Rollout(path.read_bytes(), path.name)


def _torn_end(lines: Lines) -> Lines:
    return [*lines[:-2], lines[-2][:50]]


def _glued(lines: Lines) -> Lines:
    middle = next(n for n, line in enumerate(lines) if b'"custom_tool_call"' in line)
    return [*lines[:middle], lines[middle][:60] + lines[middle], *lines[middle + 1 :]]


def _head_later(lines: Lines) -> Lines:
    return [lines[1], lines[0], *lines[2:]]


def _without_last_number(lines: Lines) -> Lines:
    last = json.loads(lines[-2])
    del last["ordinal"]
    return [*lines[:-2], json.dumps(last).encode(), lines[-1]]


ROLLOUTS: Final[dict[str, Callable[[Lines], Lines]]] = {
    "a torn end": _torn_end,
    "a torn record in front of a whole one": _glued,
    "the head in the second line": _head_later,
    "no number in the last record": _without_last_number,
}


@pytest.mark.parametrize("damage", ROLLOUTS)
def test_codex_resumes_its_own_session_mended(codex: Codex, rollout: Rollout, damage: str) -> None:
    mended = repair(b"\n".join(ROLLOUTS[damage](rollout.data.split(b"\n"))))
    assert mended.changes
    transcript, request = resume_rollout(codex, rollout._replace(data=mended.data))
    assert codex_differences(transcript, request, NEXT) == []


# The client notes where the records of its sessions are, and reads on from there.
@pytest.mark.parametrize("damage", ["a torn end", "a torn record in front of a whole one"])
def test_codex_resumes_its_own_session_mended_in_place(codex: Codex, damage: str) -> None:
    codex_plan.prepare(codex.project)
    assert codex.start("Give item 7 a name.", codex_plan.turns()).status == 0
    (path,) = codex.rollouts()
    path.write_bytes(b"\n".join(ROLLOUTS[damage](path.read_bytes().split(b"\n"))))
    done = condense(codex.home, "repair", str(path), "--in-place")
    assert done.returncode == 0, done.stderr
    transcript = parse(path.read_bytes(), format="codex")
    ran = codex.resume(path.stem[-36:], NEXT)
    assert len(ran.requests) == 1, ran.output + ran.error
    assert codex_differences(transcript, ran.requests[0], NEXT) == []
