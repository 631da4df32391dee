"""Logs of evaluations (Inspect, tau2-bench, mini-SWE-agent): reading, copies, refusals."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import agent_logs
import laws
import pytest
import real
from agent_work import EXPECTED, SUPPRESS, WORK, answer, asked, call, cut, holds, shape
from build import configuration, one_pass
from helpers import condense, listing

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.errors import TranscriptError, UnknownFormatError, UsageError
from condense_cli.formats import lists, parse
from condense_cli.rules.validity import validate


def written(format: str) -> dict[str, Any]:
    return json.loads(agent_logs.WRITABLE[format](WORK))  # type: ignore[no-any-return]


def loaded(value: Any) -> Transcript:
    return parse(json.dumps(value, indent=1).encode())


def test_a_sample_alone() -> None:
    sample = written("inspect")["samples"][0]
    assert shape(loaded(sample)) == EXPECTED
    (new,) = cut(json.dumps(sample).encode(), tool_results=SUPPRESS)
    assert not holds(new, listing(1)[:300])


def test_content_in_parts() -> None:
    value = written("inspect")
    messages = value["samples"][0]["messages"]
    image = {"type": "image", "image": "data:image/png;base64,iVBORw0KGgo="}
    messages[1]["content"] = [{"type": "text", "text": "Look."}, image]
    messages[2]["content"] = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "I look."}]
    messages[3]["content"] = [{"type": "text", "text": "a"}, image, {"type": "data", "data": {}}]
    transcript = loaded(value)
    assert shape(transcript)[1:4] == [
        ("user", ["text", "image"]),
        ("assistant", ["thinking", "text", "tool_call"]),
        ("tool", ["tool_result", "image", "opaque"]),
    ]
    assert validate(transcript) == []


def test_failed_results() -> None:
    value = written("inspect")
    value["samples"][0]["messages"][3]["error"] = {"type": "timeout", "message": "too slow"}
    assert loaded(value).messages[3].blocks[0].is_error


@pytest.mark.parametrize("number", [0, 2])
def test_logs_of_several_samples_are_refused(number: int) -> None:
    value = written("inspect")
    value["samples"] *= number
    with pytest.raises(UnknownFormatError, match=f"holds {number} conversations"):
        loaded(value)


def archive(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, text in files.items():
            target.writestr(name.replace("__", "/") + ".json", text)
    return buffer.getvalue()


def test_an_archive_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(archive(header="{}", samples__1_epoch_1=json.dumps(written("inspect")["samples"][0])))
    transcript = api.load(path)
    assert (transcript.format, shape(transcript)) == ("inspect-eval", EXPECTED)
    with pytest.raises(UsageError, match="cannot write"):
        api.dump(api.condense(transcript, configuration(one_pass())))
    converted = tmp_path / "messages.json"
    assert condense("run", path, "--preset", "speed", "--to", "anthropic", "-o", converted).status == 0
    assert api.load(converted).format == "anthropic"


SAMPLE = json.dumps(written("inspect")["samples"][0])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (archive(header="{}"), "without Inspect samples"),
        (archive(samples__1=SAMPLE, samples__2=SAMPLE), "holds 2 conversations"),
        (archive(samples__1="{}"), "not an Inspect sample"),
        (archive(samples__1="{"), "not JSON"),
        (archive(samples__1=SAMPLE)[:-30], "cannot be read"),
        (b"PK\x03\x04 and no more", "cannot be read"),
    ],
)
def test_other_archives_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(TranscriptError, match=said):
        parse(data, name="log.eval")


# A small archive can hold more than any memory.
def test_an_archive_is_not_unpacked_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive(samples__1=SAMPLE)
    monkeypatch.setattr(lists, "LARGEST_UNPACKED", len(SAMPLE))
    parse(data, name="log.eval")
    monkeypatch.setattr(lists, "LARGEST_UNPACKED", len(SAMPLE) - 1)
    with pytest.raises(UnknownFormatError, match=r"log\.eval unpacks to more than"):
        parse(data, name="log.eval")


# The agent never sees what the simulated user looks up.
def test_calls_of_the_user_are_not_sent() -> None:
    value = written("tau2")
    look = {"id": "u", "name": "check_status_bar", "arguments": {}, "requestor": "user"}
    own = [
        {"role": "user", "content": None, "tool_calls": [look], "turn_idx": 90, "cost": 0.0},
        {"id": "u", "role": "tool", "content": "No signal", "requestor": "user", "error": False, "turn_idx": 91},
    ]
    value["messages"][2:2] = own
    transcript = loaded(value)
    assert shape(transcript) == EXPECTED
    assert validate(transcript) == []


def test_several_results_in_one_message() -> None:
    work = [*WORK[:2], asked(call("a", "x"), call("b", "y")), answer("a", "1"), answer("b", "2")]
    value = json.loads(agent_logs.WRITABLE["tau2"](work))
    several = {"role": "tool", "tool_messages": value["messages"][3:], "turn_idx": 3, "cost": 0.0}
    value["messages"][3:] = [several]
    transcript = loaded(value)
    assert shape(transcript)[3] == ("tool", ["tool_result", "tool_result"])
    assert validate(transcript) == []


PROMPT = "End with echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
IN_TEXT = [
    {"role": "system", "content": PROMPT},
    {"role": "user", "content": "Fix the bug."},
    {"role": "assistant", "content": f"First {listing(1)}\n```mswea_bash_command\ncat a.py\n```\nLet us see."},
    {"role": "user", "content": f"<returncode>0</returncode>\n<output>\n{listing(2)}</output>"},
    {"role": "assistant", "content": "I write.\n\n```bash\ncat > a.py <<'E'\n" + listing(3) + "\nE\n```"},
    {"role": "user", "content": "<returncode>0</returncode>"},
    {"role": "assistant", "content": "Two:\n```bash\nls\n```\n```bash\npwd\n```"},
    {"role": "user", "content": "Please give one action."},
]


def test_commands_in_text() -> None:
    transcript = loaded(IN_TEXT)
    assert transcript.format == "mini-swe-agent"
    fence = "opaque"
    assert shape(transcript)[2:] == [
        ("assistant", ["text", fence, "tool_call", fence, "text"]),
        ("user", ["tool_result"]),
        ("assistant", ["text", fence, "tool_call", fence]),
        ("user", ["tool_result"]),
        ("assistant", ["text", fence, "text", fence, fence, "text", fence]),
        ("user", ["text"]),
    ]
    for message, record in zip(transcript.messages, IN_TEXT, strict=True):
        assert "".join(block.text for block in message.blocks) == record["content"]


@pytest.mark.parametrize("content", ["tool_results", "tool_parameters", "message_text"])
def test_commands_in_text_are_written(content: str) -> None:
    strict = one_pass(individual_config={"defaults": {content: SUPPRESS}})
    assert laws.check_all(loaded(IN_TEXT), configuration(strict, keep_first=0)).changes


# The agent takes a command up to the next fence, whatever that is.
@pytest.mark.parametrize("content", ["tool_parameters", "message_text"])
def test_fences_in_a_command(content: str) -> None:
    said = f"{listing(1)}\n```bash\ncat > a.md <<'E'\n{listing(2)}\n```python\n{listing(3)}\n```\nE\n```"
    transcript = loaded([*IN_TEXT[:2], {"role": "assistant", "content": said}, *IN_TEXT[3:]])
    assert transcript.messages[2].blocks[2].text == f"cat > a.md <<'E'\n{listing(2)}"
    strict = one_pass(individual_config={"defaults": {content: SUPPRESS}})
    assert laws.check_all(transcript, configuration(strict, keep_first=0)).changes


# Of several commands none is run. Where lines of such a text go, it still holds several.
@pytest.mark.parametrize("gap", ["\n", "\nor\n", "\n" + listing(4)])
def test_several_commands_stay_several(gap: str) -> None:
    one = "```bash\ncat <<'E' > a.py\n" + listing(1, 60) + "E\n```"
    said = {"role": "assistant", "content": f"Two:\n{one}{gap}{one}\n"}
    done = [message for _ in range(8) for message in IN_TEXT[4:6]]
    transcript = loaded([*IN_TEXT[:2], said, IN_TEXT[7], *done])
    assert len(transcript.messages[2].blocks) == (8 if gap.strip() else 7)
    result = api.condense(transcript, preset="balanced", target_tokens=1000)
    (again,) = [m for m in api.loads(api.dump(result)).messages if "Two:" in m.blocks[0].text]
    assert len(again.blocks[2].text) < 500
    assert all(block.kind is not BlockKind.TOOL_CALL for block in again.blocks)


def test_the_end_is_not_sent() -> None:
    value = written("mini-swe-agent")
    assert value["messages"][-1]["role"] == "exit"
    transcript = loaded(value)
    assert (len(transcript.messages), transcript.model) == (len(WORK), "gpt-5.1")


def conversations() -> list[tuple[str, bytes]]:
    """Yield one conversation of every real file that holds several."""
    found = []
    for path in sorted(real.FOLDER.glob("inspect/*.json")):
        samples = json.loads(path.read_bytes())["samples"]
        found.append((path.name, json.dumps(samples[0], indent=2).encode()))
    for path in sorted(real.FOLDER.glob("inspect/*.eval")):
        with zipfile.ZipFile(path) as samples:
            name = next(name for name in samples.namelist() if name.startswith("samples/"))
            found.append((path.name, samples.read(name)))
    for path in sorted(real.FOLDER.glob("tau-bench/tau2*.json")):
        simulations = json.loads(path.read_bytes())["simulations"]
        found += [(path.name, json.dumps(one, indent=2).encode()) for one in simulations[:2]]
    return found


@pytest.mark.parametrize(("name", "data"), conversations(), ids=lambda value: value if isinstance(value, str) else "")
def test_laws_hold_for_real_conversations(name: str, data: bytes) -> None:
    transcript = parse(data)
    assert transcript.format == ("tau2" if name.startswith("tau2") else "inspect")
    assert validate(transcript) == []
    strict = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 0})
    strict["individual_config"] = {"defaults": dict.fromkeys(("tool_results", "tool_parameters"), SUPPRESS)}
    for config in (load_preset("speed"), configuration(strict, lossless_prelude={})):
        laws.check_all(transcript, config)
