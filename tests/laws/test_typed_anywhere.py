"""What a person typed stays, wherever a client puts it: law 5 in every format, at every target, over several rounds."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, Final

import claude_tree
import pytest
from answers import QUESTIONS, RULE, TELLING
from build import LONG, assistant, call, read_turn, result, text, user
from msgspec.structs import replace
from yesterday import sources

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.core.transcript import Block, Message, Transcript
from condense_cli.formats import format_named
from condense_cli.formats.engine.client_text import _TAGS
from condense_cli.lossless.decode import decode
from condense_cli.tokens.counting import Counter

Json = dict[str, Any]
Place = Callable[[str, str], list[Json]]
"""The messages of a chat in which a person typed a text, by an id for a call and that text."""

_SHELL = "<user_shell_command>\n<command>\n{}\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>"
_TEXTS: Final = {
    "alone": "{}",
    "behind a command": "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n"
    "<command-args>{}</command-args>",
    "in a shell of Claude Code": "<bash-input>{}</bash-input>",
    "in a shell of Codex": _SHELL,
    "in a shell of Gemini CLI": "I ran the following shell command:\n```sh\n{}\n```\n\nThis produced the following "
    "result:\n```\nclean\n```",
    "behind a reminder": "<system-reminder>\nBe brief.\n</system-reminder>\n{}",
    "while the model worked": "<system-reminder>\nThe user sent a new message while you were working:\n{}\n\n"
    "IMPORTANT: Go on with your task, then answer.\n</system-reminder>",
    "before a reminder": "{}\n<system-reminder>\nBe brief.\n</system-reminder>",
    "behind an interruption": "[Request interrupted by user]{}",
    "in the tags of Roo Code": "<task>\n{}\n</task>",
    "behind instructions": "# AGENTS.md instructions\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>\n{}\nWhy a </INSTRUCTIONS>",
    "in a fence without an end": "Mend this:\n```py\n{}",
    **{
        f"beside a quoted {tag}": f"<{tag}>\nOurs is <{tag}>.\n</{tag}>\n{{}}\nWhy does it end in </{tag}>"
        for tag in _TAGS
    },
}
_RESULTS: Final = {
    **{f"answer to {tool}": (tool, text) for tool, (text, _) in QUESTIONS.items()},
    **{f"said to a call: {name}": ("run_command", text) for name, (text, _) in TELLING.items()},
}
_WITHOUT_TOOLS: Final = ("swe-agent", "openhands")
"""Formats of agents that ask in no call: their actions are lines of text, or events of kinds that are none."""


def _said(text: str) -> Place:
    return lambda _, words: [{"role": "user", "content": text.replace("{}", words)}, _assistant("I will.")]


def _answered(tool: str, text: str) -> Place:
    def written(id: str, words: str) -> list[Json]:
        for rule in (RULE, json.dumps(RULE)[1:-1], "pnpm, as always"):
            if rule in text:
                return [_call(id, tool), _result(id, text.replace(rule, words)), _assistant("I will.")]
        raise ValueError(text)

    return written


PLACES: Final[dict[str, Place]] = {
    **{name: _said(text) for name, text in _TEXTS.items()},
    **{name: _answered(*given) for name, given in _RESULTS.items()},
}


def _assistant(text: str) -> Json:
    return {"role": "assistant", "content": text}


def _call(id: str, tool: str, **arguments: str) -> Json:
    function = {"name": tool, "arguments": json.dumps(arguments or {"command": f"show {id}"})}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": id, "type": "function", "function": function}]}


def _result(id: str, text: str) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": text}


def sentence(name: str) -> str:
    """What is typed at a place; no other place has it."""
    number = [*PLACES].index(name)
    return f"Never let service {number} write to database {number * 7919 % 9973} without asking."


def _work(number: int, files: int = 2) -> Iterator[Json]:
    """Files that nobody needs again."""
    for part in range(files):
        id = f"read_{number}_{part}"
        yield _call(id, "read_file", path=f"src/part_{number}_{part}.py")
        yield _result(id, "\n".join(f"value_{id}_{line} = compute({line * number})" for line in range(45)))


@cache
def chat(has_tools: bool, files: int = 2) -> list[Json]:
    """A conversation in which the user types something at every place, each time followed by work on so many files."""
    messages: list[Json] = [_SYSTEM, {"role": "user", "content": "Look around."}]
    for number, (name, place) in enumerate(PLACES.items()):
        if has_tools or name in _TEXTS:
            messages += [*place(f"asked_{number}", sentence(name)), *_work(number, files)]
    return [*messages, _assistant("Done."), {"role": "user", "content": "Thanks."}, *_work(1_000), _assistant("Yes.")]


_SYSTEM: Final[Json] = {"role": "system", "content": "Be brief."}
FILES: Final = [file for file in sources.sessions([_SYSTEM]) if format_named(file.partition(".")[0]).is_writable]


@cache
def session(file: str, files: int = 2) -> Transcript:
    has_tools = file.partition(".")[0] not in _WITHOUT_TOOLS
    files = files if has_tools else 1  # Each step of SWE-agent repeats all before it.
    return api.loads(sources.sessions(chat(has_tools, files))[file]())


def missing(file: str) -> list[str]:
    """Places that the format does not have."""
    return [*_RESULTS] if file.partition(".")[0] in _WITHOUT_TOOLS else []


_OF_OTHERS: Final = frozenset({"in a shell of Gemini CLI"})
"""Words that only that client writes around a command; behind those of another client it is fenced text."""


def lost(transcript: Transcript) -> list[str]:
    """The places from which the words are gone."""
    texts = "\n".join(block.text for _, block in decoded(transcript))
    return [name for name in PLACES if sentence(name) not in texts]


def decoded(transcript: Transcript) -> Iterator[tuple[Message, Block]]:
    return ((message, block) for message in decode(transcript.messages).messages for block in message.blocks)


NATIVE: Final = Configuration(provider="native")
PERCENT: Final = (60, 40, 30, 20, 15)


# The same at one target, with less work in between.
@pytest.mark.parametrize("file", ["anthropic.json", "claude-code.jsonl", "codex.jsonl"])
def test_at_one_target(file: str) -> None:
    stays_at(session(file, files=1), 50)


@pytest.mark.slow
@pytest.mark.parametrize("percent", PERCENT)
@pytest.mark.parametrize("file", FILES)
def test_at_every_target(file: str, percent: int) -> None:
    stays_at(session(file), percent, missing(file))


def stays_at(transcript: Transcript, percent: int, missing: Sequence[str] = ()) -> None:
    assert lost(transcript) == [*missing]
    target = Counter.of(transcript).transcript(transcript) * percent // 100
    condensation = api.condense(transcript, preset="balanced", target_tokens=target)
    assert not condensation.is_target_missed
    assert [place for place in lost(condensation.transcript) if place not in _OF_OTHERS] == [*missing]


@pytest.mark.slow
@pytest.mark.parametrize("configuration", [load_preset("max"), NATIVE], ids=["max", "native"])
@pytest.mark.parametrize("file", FILES)
def test_in_one_summary_after_another(file: str, configuration: Configuration) -> None:
    transcript = session(file)
    for _ in range(3):
        condensation = api.condense(transcript, configuration)
        assert lost(condensation.transcript) == missing(file)
        transcript = api.loads(api.dump(condensation))


GROWING: Final = ("anthropic.json", "openai-chat.jsonl", "claude-code.jsonl", "roo.json")


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["balanced", "max"])
@pytest.mark.parametrize("file", GROWING)
def test_over_rounds_with_new_work(file: str, preset: str) -> None:
    data = sources.sessions(chat(True))[file]()
    for number in range(3):
        transcript = api.loads(data)
        assert lost(transcript) == []
        target = Counter.of(session(file)).transcript(session(file)) // 5
        condensation = api.condense(transcript, preset=preset, target_tokens=target)
        assert lost(condensation.transcript) == []
        more = [{"role": "user", "content": f"Part {number}."}, *_work(2_000 + number), _assistant("Done.")]
        data = sources.grown(file, api.dump(condensation), more, start=1_000 * (number + 1))


WORDS: Final = "Never let anybody write to the production database."


def _reads(number: int) -> list[Json]:
    """A call and its result, as records of Claude Code."""
    told = "\n".join(f"value_{number}_{line} = compute({line * number})" for line in range(40))
    asked = claude_tree.reply(number, number - 1, f"m{number}", call(f"c{number}", "Read", file_path=f"{number}.py"))
    return [asked, claude_tree.said(number + 1, number, [result(f"c{number}", told)])]


def _asked(number: int, told: str, *beside: Json, **keys: Any) -> list[Json]:
    asked = claude_tree.reply(number, number - 1, f"m{number}", call("asked", "Consult", about="it"))
    return [asked, claude_tree.said(number + 1, number, [result("asked", told), *beside], **keys)]


def _behind_command(number: int) -> list[Json]:
    content = f"<command-name>/btw</command-name>\n<command-args>{WORDS}</command-args>"
    done = claude_tree.reply(number, number - 1, f"m{number}", text("Done."))
    return [done, claude_tree.record(number + 1, number, "system", subtype="local_command", content=content)]


_CLAUDE: Final[dict[str, Callable[[int], list[Json]]]] = {
    "a prompt in the queue": lambda number: [claude_tree.queued(number, number - 1, WORDS)],
    "a text beside results": lambda number: _asked(number, "ok", text(WORDS)),
    "answers": lambda number: _asked(number, f"In other words: {WORDS}", toolUseResult={"answers": {"Which?": WORDS}}),
    "a reason": lambda number: _asked(number, f"In other words: {WORDS}", toolDenialKind="user-rejected"),
    "an edited plan": lambda number: _asked(number, f"It is now: {WORDS}", toolUseResult={"planWasEdited": True}),
    "a command that was not sent": _behind_command,
}


def of_claude(place: str) -> bytes:
    records = [claude_tree.said(1, None, "Look around.")]
    for number in range(20):
        records += _CLAUDE[place](len(records) + 1) if number == 7 else _reads(len(records) + 1)
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def of_roo() -> bytes:
    """A question as XML in the text of the assistant, with the answer in the text behind it."""
    messages = [
        message for number in range(16) for message in read_turn(f"r{number}", f"{number}.py", f"{LONG}{number}")
    ]
    question = "<ask_followup_question>\n<question>Which?</question>\n</ask_followup_question>"
    told = f"[ask_followup_question for 'Which?'] Result:\n\n<answer>\n{WORDS}\n</answer>"
    messages[12:12] = [assistant(question), user([text(told)])]
    stamped = ({**message, "ts": number} for number, message in enumerate([user("Look around."), *messages]))
    return json.dumps([*stamped]).encode()


def of_pi() -> bytes:
    """A command that the user ran in the shell of the client."""
    records = [json.loads(line) for line in sources.sessions(_plain())["pi.jsonl"]().splitlines()]
    middle = next(number for number, record in enumerate(records[12:], 12) if record["message"]["role"] == "toolResult")
    ran = {"role": "bashExecution", "command": f"echo {WORDS}", "output": "x", "exitCode": 0}
    records.insert(middle + 1, {**records[middle], "id": "ran", "parentId": records[middle]["id"], "message": ran})
    records[middle + 2]["parentId"] = "ran"
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def of_openhands() -> bytes:
    """Why the user refused an action."""
    events = [json.loads(line) for line in sources.sessions(_plain())["openhands-sdk.jsonl"]().splitlines()]
    seen = next(event for event in events[12:] if event["kind"] == "ObservationEvent")
    del seen["observation"]
    seen |= {"kind": "UserRejectObservation", "rejection_reason": WORDS}
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def _plain() -> list[Json]:
    start: list[Json] = [_SYSTEM, {"role": "user", "content": "Look around."}]
    return [*start, *(message for number in range(8) for message in _work(number)), _assistant("Done.")]


_FILES: Final[dict[str, Callable[[], bytes]]] = {
    **{place: partial(of_claude, place) for place in _CLAUDE},
    "an answer in the text": of_roo,
    "a command in a shell": of_pi,
    "why an action was refused": of_openhands,
}


@pytest.mark.parametrize("place", _FILES)
def test_at_places_of_one_format(place: str) -> None:
    transcript = api.loads(_FILES[place]())
    target = Counter.of(transcript).transcript(transcript) // 5
    settings = [replace(load_preset("balanced"), target_tokens=target), load_preset("max"), NATIVE]
    for configuration in settings:
        condensation = api.condense(transcript, configuration)
        assert condensation.changes
        assert any(WORDS in block.text for _, block in decoded(condensation.transcript)), configuration
