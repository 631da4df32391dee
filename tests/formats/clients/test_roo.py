"""Roo Code and Cline: calls and results inside text, hidden messages, native tool blocks."""

from __future__ import annotations

import json
from typing import Any

import laws
import pytest
from batches import batch
from build import LONG, assistant, call, condense, configuration, one_pass, result, text, user, written
from generated_configurations import configurations
from hypothesis import given
from hypothesis import strategies as st
from strategies import VISIBLE, spelled

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.extractive.answers import is_typed
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls import text_calls
from condense_cli.toolcalls.tools import arguments_of, has_failed, main_argument, string_values

ENVIRONMENT = text("<environment_details>\n# Current Time\nnoon\n</environment_details>")
READ = "<read_file>\n<args>\n<file>\n<path>src/a.ts</path>\n</file>\n</args>\n</read_file>"
CONTENT = f"<content>\n{LONG}\n</content>"
WRITE = f"<write_to_file>\n<path>src/b.ts</path>\n{CONTENT}\n<line_count>40</line_count>\n</write_to_file>"


def roo(*messages: dict[str, Any]) -> Transcript:
    stamped = [message | {"ts": 1_700_000_000_000 + number} for number, message in enumerate(messages)]
    transcript = api.loads(json.dumps(stamped, indent="\t"))
    assert transcript.format == "roo"
    return transcript


def session() -> list[dict[str, Any]]:
    return [
        user([text("<task>\nfix it\n</task>"), ENVIRONMENT]),
        assistant([text(f"I read the file.\n\n{READ}")]),
        user([text("[read_file for 'src/a.ts'. Several files at once are better.] Result:"), text(LONG), ENVIRONMENT]),
        assistant([text(f"Now I write.\n\n{WRITE}\nDone.")]),
        user([text(f"[write_to_file for 'src/b.ts'] Result:\n\n{LONG}"), ENVIRONMENT]),
        assistant([text("<attempt_completion>\n<result>\nAll fixed.\n</result>\n</attempt_completion>")]),
    ]


def kinds(transcript: Transcript, message: int) -> list[tuple[str, str | None]]:
    return [(block.kind.value, block.call_id) for block in transcript.messages[message].blocks]


def test_calls_and_results_in_text_are_tool_blocks() -> None:
    transcript = roo(*session())
    assert kinds(transcript, 1) == [("text", None), ("tool_call", "text-call-1")]
    assert kinds(transcript, 2) == [("opaque", None), ("tool_result", "text-call-1"), ("text", None)]
    assert kinds(transcript, 3) == [("text", None), ("tool_call", "text-call-2"), ("text", None)]
    assert kinds(transcript, 4) == [("opaque", None), ("tool_result", "text-call-2"), ("text", None)]
    header, body, environment = transcript.messages[4].blocks
    assert header.injected
    assert body.text == LONG
    assert environment.injected


# Behind a result without a body is something else, also after lines of it went.
@pytest.mark.parametrize("end", ["", "\n\n"])
@pytest.mark.parametrize("preset", ["balanced", "max"])
def test_a_result_without_a_body(end: str, preset: str) -> None:
    inside = f"{LONG}\n</environment_details>"
    answer = [text("[write_to_file for 'src/b.ts'] Result:" + end), text(f"<environment_details>\n{inside}")]
    work = [assistant([text(f"Now I write.\n\n{WRITE}")]), user(answer)]
    transcript = roo(*session()[:1], *(message for _ in range(6) for message in work), *session()[1:])
    assert kinds(transcript, 2) == [("opaque", None), ("opaque", None), ("text", None)]
    result = api.condense(transcript, preset=preset)
    assert inside not in [block.text for block in api.loads(api.dump(result)).messages[2].blocks]


# What the assistant says to the user is message text, though it is spelled like a call.
def test_a_completion_is_message_text() -> None:
    assert kinds(roo(*session()), 5) == [("text", None)]


def test_results_and_parameters_are_condensed_in_place() -> None:
    suppress = {name: {"operation": "suppress"} for name in ("tool_parameters", "tool_results")}
    before = session()
    after = written(condense(roo(*before), one_pass(individual_config={"defaults": suppress})))
    assert after[2]["content"][1]["text"].startswith("[… 40 lines #")
    marker = after[2]["content"][1]["text"]
    assert after[3]["content"][0]["text"] == f"Now I write.\n\n{WRITE}\nDone.".replace(LONG, marker)
    assert after[4]["content"][0]["text"] == f"[write_to_file for 'src/b.ts'] Result:\n\n{marker}"
    assert [message["content"][-1] for message in after[::2]] == [ENVIRONMENT] * 3
    assert all("ts" in message for message in after)


def test_failures_are_known() -> None:
    failed = text("The tool execution failed with the following error:\n<error>\nno\n</error>")
    transcript = roo(
        user([text("<task>x</task>")]), assistant([text(READ)]), user([text("[read_file] Result:"), failed])
    )
    assert has_failed(transcript.messages[2].blocks[1])
    assert not has_failed(roo(*session()).messages[2].blocks[1])


# What a summary or a truncation marker of the client hides is not sent, and keeps its bytes.
@pytest.mark.parametrize(
    ("parent", "identifier"), [("condenseParent", "condenseId"), ("truncationParent", "truncationId")]
)
def test_hidden_messages_are_not_the_conversation(parent: str, identifier: str) -> None:
    hidden = assistant([text("old")]) | {parent: "c1"}
    summary = assistant([text("summary")]) | {"isSummary": True, identifier: "c1"}
    transcript = roo(user("task"), hidden, user("more") | {parent: "c1"}, summary, user("go on"))
    assert [message.blocks[0].text for message in transcript.messages] == ["task", "summary", "go on"]
    orphan = roo(user("task"), hidden, user("go on"))
    assert len(orphan.messages) == 3


def test_neighbours_of_one_role_are_one_turn() -> None:
    """As the API joins and counts them; a request that was sent again is behind the first."""
    again = [user([text("go on")]), user([text("please")]), assistant([text(LONG)]), assistant([text("More.")])]
    transcript = roo(*session(), *again, *again)
    assert [message.role.value for message in transcript.messages] == ["user", "assistant"] * 5
    found = batch(transcript)
    written = api.loads(api.dump(found), format="roo")
    assert len(written.messages) == len(found.transcript.messages)
    assert Counter().transcript(written) == found.tokens_after < found.tokens_before


def test_native_tool_blocks_are_read_as_they_are() -> None:
    transcript = roo(user("task"), assistant([call("toolu_1")]), user([result("toolu_1")]), assistant("done"))
    assert kinds(transcript, 2) == [("tool_result", "toolu_1")]
    assert condense(transcript).changes


# Envelopes of newer versions keep their keys.
def test_the_envelope_is_kept() -> None:
    messages = [message | {"ts": 1} for message in session()]
    data = json.dumps({"version": 2, "messages": messages, "after": [1]}).encode()
    condensation = api.condense(api.loads(data), configuration(one_pass()))
    after = json.loads(api.dump(condensation))
    assert (after["version"], after["after"], len(after["messages"])) == (2, [1], 6)
    assert condensation.changes


def test_arguments_of_xml_calls() -> None:
    transcript = roo(*session())
    read, write = (block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_CALL)
    assert arguments_of(read) == {"args": {"file": {"path": "src/a.ts"}}}
    assert arguments_of(write) == {"path": "src/b.ts", "content": LONG, "line_count": "40"}
    assert (main_argument(read), main_argument(write)) == ("src/a.ts", "src/b.ts")


def test_several_files_in_one_call() -> None:
    file = "<file><path>{}</path></file>"
    spelled_call = f"<read_file>\n<args>{file.format('a')}{file.format('b')}</args>\n</read_file>"
    assert text_calls.xml_arguments(spelled_call) == {"args": {"file": [{"path": "a"}, {"path": "b"}]}}
    replaced = text_calls.replace_xml(spelled_call, {("args", "file", 1, "path"): "c"})
    assert replaced == spelled_call.replace(">b<", ">c<")


# What looks like a tag in code is text, even in thousands of lines.
def test_tags_that_are_never_closed_are_text() -> None:
    diff = "let all: Vec<T> = from(<read_file>);\n" * 20_000
    spelled_call = f"<apply_diff>\n<path>a.rs</path>\n<diff>\n{diff}\n</diff>\n</apply_diff>"
    assert text_calls.xml_arguments(spelled_call) == {"path": "a.rs", "diff": diff}
    assert list(text_calls.find_calls(diff + spelled_call)) == [("apply_diff", len(diff), len(diff + spelled_call))]


# Replacing the values of a call changes exactly these.
@given(st.dictionaries(st.sampled_from(["path", "content", "command"]), st.text(alphabet="ab<>/\n", max_size=9)))
def test_replacing_changes_exactly_the_values(values: dict[str, str]) -> None:
    body = "".join(f"<{name}>\n{value}\n</{name}>\n" for name, value in values.items())
    spelled_call = f"<write_to_file>\n{body}</write_to_file>"
    found = dict(string_values(text_calls.xml_arguments(spelled_call)))
    new = {path: f"new {number}" for number, path in enumerate(found)}
    assert dict(string_values(text_calls.xml_arguments(text_calls.replace_xml(spelled_call, new)))) == new
    assert text_calls.replace_xml(spelled_call, found) == spelled_call


# The client puts such a header before results alone; at other places a person may quote one.
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ([text("What do you see?")], "text"),
        ([text(WRITE)], "text"),  # Another tool.
        ([text("I look."), call("a", "read_file", path="src/a.ts")], "text"),  # Its result is a block of its own.
        ([text(READ)], "tool_result"),
        ([text("<read_file>\n<path>src")], "tool_result"),  # Cut off.
        ([text("I look.\n[… 5 lines #123456]")], "tool_result"),  # Cut by a run: the tag may have been there.
    ],
)
def test_a_result_answers_a_call(answer: list[dict[str, Any]], kind: str) -> None:
    said = "[read_file for 'src/a.ts'] Result:\nNEVER read this file again."
    results = [result(part["id"], "x") for part in answer if part["type"] == "tool_use"]
    transcript = roo(user([text("<task>fix it</task>")]), assistant(answer), user([*results, text(said), ENVIRONMENT]))
    (block,) = [block for block in transcript.messages[2].blocks if "NEVER" in block.text]
    assert block.kind.value == kind
    assert is_typed(transcript.messages[2], block) is (kind == "text")


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages = [user([text(f"<task>\n{draw(VISIBLE)}\n</task>"), ENVIRONMENT])]
    for _ in range(draw(st.integers(1, 6))):
        prose, body = draw(VISIBLE), draw(VISIBLE)
        spelled_call = draw(
            st.sampled_from([READ, WRITE, f"<execute_command>\n<command>{body}</command>\n</execute_command>"])
        )
        tool = spelled_call[1 : spelled_call.index(">")]
        messages.append(assistant([text(prose + "\n\n" + spelled_call + draw(st.sampled_from(["", "\ntail"])))]))
        header = f"[{tool} for 'x'] Result:"
        parts = draw(st.sampled_from([[text(header), text(body)], [text(f"{header}\n{body}")]]))
        messages.append(user([*parts, ENVIRONMENT]))
    return [message | {"ts": number} for number, message in enumerate(messages)]


# Every law holds for any configuration on any history.
@given(histories().flatmap(spelled), configurations())
def test_laws_hold(data: bytes, config: Any) -> None:
    transcript = api.loads(data)
    assert transcript.format == "roo"
    laws.check_all(transcript, config)
