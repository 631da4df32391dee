"""`restore` on lines in the form of references that do not resolve: broken ones of ours, or text."""

import json
from pathlib import Path
from typing import Any

import pytest
from bombs import LINES
from build import assistant, call, read_turn, result, user
from helpers import condense
from reading import B, read, see

from condense_cli import api
from condense_cli.errors import ExitStatus

pytestmark = pytest.mark.usefixtures("anywhere")

FOREIGN = "[see lines 3-75 of the next Read of src/app.py #520917]"
"""As our documentation shows it."""
LONG = "\n".join(f"line {n} of a file that is read twice, and long enough" for n in range(30))
TWICE = [*read_turn("toolu_1", "src/app.py", LONG), *read_turn("toolu_2", "src/app.py", LONG)]


def bash(identifier: str, command: str, content: str) -> list[dict[str, Any]]:
    return [assistant([call(identifier, "Bash", command=command)]), user([result(identifier, content)])]


def restored(*records: dict[str, Any]) -> api.Restoration:
    return api.restore(loaded(*records))


def loaded(*records: dict[str, Any]) -> api.Transcript:
    return api.loads("".join(json.dumps(record) + "\n" for record in [user("Look."), *records]))


# Text that imitates our marks is text: a session in which somebody reads about them has nothing broken.
@pytest.mark.parametrize(
    "line",
    [
        FOREIGN,
        "[see new_string of this call #298817]",
        "[see the result #298817]",
        "[see lines 3-9 above #401752]",
        "[see lines 2-21 of the next <environment_details> #401752]",
    ],
)
def test_what_names_nothing_here_is_text(line: str, tmp_path: Path) -> None:
    records = [user("Look."), *bash("toolu_1", "cat notes.md", f"The notes.\n{line}\nMore.")]
    found = restored(*records[1:])
    assert (found.resolved, found.unresolved, found.look_alikes) == (0, 0, 1)
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    done = condense("restore", path)
    assert (done.status, done.stdout) == (ExitStatus.DONE, path.read_bytes())
    assert (
        done.stderr
        == "Nothing to restore.\n1 line looks like a reference and points to nothing here; it stays as text.\n"
    )
    assert condense("restore", path, "--json").json["look_alikes"] == 1


# Nor is it where a file of that name is read, as long as something unrelated says so.
@pytest.mark.parametrize("turn", [bash("toolu_0", "cat notes.md", f"So:\n{FOREIGN}"), read("a", f"So:\n{FOREIGN}")])
def test_naming_what_is_here_makes_no_reference(turn: list[dict[str, Any]]) -> None:
    found = restored(*turn, *TWICE)
    assert (found.resolved, found.unresolved, found.look_alikes) == (0, 0, 1)
    found = restored(*read_turn("toolu_0", "src/app.py", f"So:\n{FOREIGN}"), *TWICE)
    assert (found.resolved, found.unresolved, found.look_alikes) == (0, 1, 0)


# Nor is it once the transcript was condensed: all that we wrote comes back, and the status says so.
def test_text_stays_text_in_a_condensed_file() -> None:
    whole = loaded(*TWICE, *bash("toolu_3", "cat notes.md", f"The notes.\n{FOREIGN}"))
    small = api.loads(api.dump(api.condense(whole, preset="lossless")))
    found = api.restore(small)
    assert (found.resolved, found.unresolved, found.look_alikes) == (1, 0, 1)
    assert api.dump(found) == whole.source.data


# A reference of ours whose lines were cleared, changed or taken out of the file since is broken.
@pytest.mark.parametrize("kept", ["[Old tool result content cleared]", LONG.replace("line 7 ", "row 7 "), None])
def test_what_we_wrote_and_cannot_undo_is_told(kept: str | None, tmp_path: Path) -> None:
    small = [json.loads(line) for line in api.dump(api.condense(loaded(*TWICE), preset="lossless")).splitlines()]
    assert b"[see the next Read of src/app.py #" in json.dumps(small).encode()
    if kept is None:
        del small[3:]
    else:
        small[4]["content"][0]["content"] = kept
    found = restored(*small[1:])
    assert (found.resolved, found.unresolved, found.look_alikes) == (0, 1, 0)
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in small))
    done = condense("restore", path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, path.read_bytes())
    assert "1 reference cannot be undone: its lines were changed or removed; left as is." in done.stderr


# Text that a person typed never contains references, whatever is there.
def test_what_a_person_typed_is_text() -> None:
    line = see("the next Read of b.py", LINES + "x")
    found = restored(user(f"It says\n{line}"), *B)
    assert (found.unresolved, found.look_alikes) == (0, 1)
    found = restored(*read_turn("a", "b.py", line), *B)
    assert (found.unresolved, found.look_alikes) == (1, 0)


# Outside the conversation only whole lines count, not a sentence that mentions one.
def test_a_mention_outside_the_conversation_is_text(tmp_path: Path) -> None:
    aside = {"type": "system", "content": f"A reference such as {FOREIGN} has a line of its own.", "uuid": "x"}
    said = {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "Hello"}}
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(aside) + "\n" + json.dumps(said) + "\n")
    found = api.restore(api.load(path, format="claude-code"))
    assert found.elsewhere == 0
    path.write_text(json.dumps(aside | {"content": f"So:\n{FOREIGN}"}) + "\n" + json.dumps(said) + "\n")
    assert api.restore(api.load(path, format="claude-code")).elsewhere == 1
