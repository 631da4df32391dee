"""The Python API: what docs/api.md shows is what happens, and what a loop holds can be given as it is."""

import gzip
import io
import re
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from real import PROJECT

import condense_cli
from condense_cli.errors import UsageError

SHOWN = re.findall(
    r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", (PROJECT / "docs" / "api.md").read_text(), re.DOTALL
)


# The examples of the page are one program; each prints what the page says.
@pytest.mark.slow
def test_the_documented_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PROJECT / "sample_transcripts", tmp_path / "sample_transcripts")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = []
    for code, _ in SHOWN:
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(code, "docs/api.md", "exec"), names)
        printed.append(out.getvalue())
    assert printed == [text for _, text in SHOWN]


def test_every_public_name_is_documented() -> None:
    page = (PROJECT / "docs" / "api.md").read_text()
    functions = [name for name in condense_cli.__all__ if name[0].islower()]
    assert [name for name in functions if f"{name}" not in page] == []


def conversation() -> list[dict[str, Any]]:
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "line\n" * 50}
    return [
        {"role": "user", "content": "Run it."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [result]},
    ]


# A loop that condenses at every turn gets its own messages back while there is nothing to cut.
def test_unchanged_messages_come_back_as_they_were() -> None:
    messages = conversation()
    assert condense_cli.dump_messages(condense_cli.condense(condense_cli.loads(messages), {})) == messages


@pytest.mark.slow
def test_answers_of_the_anthropic_sdk_can_stand_in_the_list() -> None:
    from anthropic.types import Message

    messages = conversation()
    answer = Message.model_validate(
        {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5",
            "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": messages[1]["content"],
        }
    )  # fmt: skip
    given: list[Any] = [messages[0], {"role": answer.role, "content": answer.content}, messages[2]]
    assert condense_cli.dump_messages(condense_cli.condense(condense_cli.loads(given), {})) == messages


@pytest.mark.slow
def test_answers_of_the_openai_sdk_can_stand_in_the_list() -> None:
    from openai.types.chat import ChatCompletionMessage

    call = {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    given = [{"role": "user", "content": "Run it."}, ChatCompletionMessage.model_validate(answer), result]
    back = condense_cli.dump_messages(condense_cli.condense(condense_cli.loads(given), {}))
    assert back == [given[0], answer, result]


# As `messages_to_dict` gives them and `messages_from_dict` takes them.
def test_messages_of_langchain_come_back_as_a_list() -> None:
    said = "\n".join(f"line {n}: the value is {n * n}" for n in range(200))
    calls = [{"name": "run", "args": {}, "id": "c1", "type": "tool_call"}]
    given: list[dict[str, Any]] = [
        {"type": "human", "data": {"content": "Run it.", "type": "human"}},
        {"type": "ai", "data": {"content": "", "type": "ai", "tool_calls": calls}},
        {"type": "tool", "data": {"content": said, "type": "tool", "tool_call_id": "c1"}},
        *({"type": kind, "data": {"content": "Go on.", "type": kind}} for _ in range(8) for kind in ("ai", "human")),
    ]
    transcript = condense_cli.loads(given)
    assert condense_cli.dump_messages(transcript) == given
    condensed = condense_cli.dump_messages(condense_cli.condense(transcript, preset="cost"))
    assert [message["type"] for message in condensed] == [message["type"] for message in given]
    assert len(condensed[2]["data"]["content"]) < len(said)


def test_a_configuration_is_checked_as_a_file_is() -> None:
    from condense_cli.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="passess"):
        condense_cli.condense(condense_cli.loads(conversation()), {"passess": []})


def test_an_unknown_way_to_compare_with_is_refused() -> None:
    with pytest.raises(UsageError, match="nope") as caught:
        condense_cli.evaluate(condense_cli.loads(conversation()), presets=["speed"], against=["nope"])
    assert "oldest" in caught.value.hint


# A transcript and a restoration are given like the result of condensing.
def test_every_result_can_be_dumped_and_converted() -> None:
    messages = conversation()
    transcript = condense_cli.loads(messages)
    restored = condense_cli.restore(transcript)
    assert condense_cli.dump_messages(transcript) == condense_cli.dump_messages(restored) == messages
    converted = [condense_cli.convert(given, "openai-chat").data for given in (transcript, restored)]
    assert converted[0] == converted[1]


def test_the_seconds_of_a_run_are_measured() -> None:
    metrics = condense_cli.condense(condense_cli.loads(conversation()), preset="speed").metrics
    assert metrics is not None
    assert metrics.seconds > 0


def test_compressed_bytes_are_unpacked() -> None:
    data = b'[{"role": "user", "content": "Hello"}]'
    assert condense_cli.loads(gzip.compress(data)) == condense_cli.loads(data)


MESSAGES: list[Any] = [{"role": "user", "content": "Hi."}]


# What one tries first: a path, the messages themselves, or the result in place of its transcript.
@pytest.mark.parametrize(
    "name", ["condense", "convert", "dump", "dump_messages", "estimate", "evaluate", "judge_recorded", "restore"]
)
@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("session.jsonl", "condense_cli.load('session.jsonl') reads a file"),
        (Path("session.jsonl"), "condense_cli.load('session.jsonl') reads a file"),
        (b"[]", "condense_cli.loads(data)"),
        ({"messages": MESSAGES}, "condense_cli.loads(messages)"),
        (MESSAGES, "condense_cli.loads(messages)"),
        (3, "condense_cli.loads(messages)"),
    ],
)
def test_what_is_no_transcript_is_refused_with_what_reads_one(name: str, given: Any, hint: str) -> None:
    if given is MESSAGES and name in ("condense", "restore"):
        return  # They take it.
    more = ["anthropic"] if name == "convert" else []
    with pytest.raises(UsageError, match=f"A transcript is needed, not a {type(given).__name__}") as refused:
        getattr(condense_cli, name)(given, *more)
    assert hint in refused.value.hint


class SdkMessage:
    """A message as an SDK returns it."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self._fields


@pytest.mark.parametrize("as_sdk", [False, True])
def test_messages_are_taken_as_a_loop_holds_them(as_sdk: bool) -> None:
    messages = condense_cli.dump_messages(condense_cli.load(PROJECT / "sample_transcripts" / "bugfix-messages.json"))
    given = [SdkMessage(**message) if as_sdk else message for message in messages]
    result = condense_cli.condense(given, preset="speed")
    assert result.tokens_after < result.tokens_before
    assert condense_cli.dump_messages(result) == condense_cli.dump_messages(
        condense_cli.condense(condense_cli.loads(messages), preset="speed")
    )
    assert condense_cli.dump_messages(condense_cli.restore(tuple(given))) == messages
    assert condense_cli.diff(given, condense_cli.dump_messages(result)).blocks


# They hold whole files: a prompt, a log or a failed assertion must not print those.
def test_transcripts_and_results_print_in_a_line() -> None:
    transcript = condense_cli.load(PROJECT / "sample_transcripts" / "bugfix-session.jsonl")
    result = condense_cli.condense(transcript, preset="speed")
    assert repr(transcript) == "<Transcript: claude-code, 160 messages>"
    assert repr(result) == "<Condensation: 38,534 -> 12,824 tokens, 77 changes>"
    assert len(repr(condense_cli.restore(result.transcript))) < 300
