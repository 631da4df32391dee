"""Editing the text of a configuration: values change, everything else stays, and comments go with their entries."""

import json
import random
from typing import Any

import pytest
import yaml

from condense_cli.config import yaml_editing
from condense_cli.config.preset_folders import presets_folder
from condense_cli.config.yaml_editing import ConfigurationDocument

TEXT = """\
# The file as a whole.

name: mine  # short
description: Something.

lossless_prelude:
  enabled: true
  operations: {deduplicate_file_reads: true, remove_obsolete_state: true}

passes:
  # Old results first.
  - id: results
    name: Results
    # why five
    selection: {type: preserve_recent, keep_recent_count: 5}
    mode: extract
    # nothing else yet

  # Then texts,
  # all of them.
  - id: texts  # the second
    selection:
      type: preserve_percent  # half
      keep_percentage: 50
    mode: extract
# The end of it.
thinking: auto
"""


def after(text: str, line: str) -> str:
    """The line that follows the first that has a text in it."""
    lines = text.split("\n")
    return lines[next(number for number, found in enumerate(lines) if line in found) + 1]


def test_a_value_changes_and_nothing_else() -> None:
    edited = ConfigurationDocument(TEXT).with_value(("name",), "yours")
    assert edited.text == TEXT.replace("name: mine  # short", "name: yours  # short")
    edited = ConfigurationDocument(TEXT).with_value(("passes", 1, "selection", "keep_percentage"), 20)
    assert edited.text == TEXT.replace("50", "20")
    edited = ConfigurationDocument(TEXT).with_value(("lossless_prelude", "operations", "remove_obsolete_state"), False)
    assert edited.text == TEXT.replace("remove_obsolete_state: true", "remove_obsolete_state: false")


def test_comments_move_with_the_entry_that_they_stand_above() -> None:
    moved = ConfigurationDocument(TEXT).with_moved(("passes",), 1, 0).text
    assert [item["id"] for item in yaml.safe_load(moved)["passes"]] == ["texts", "results"]
    assert after(moved, "# all of them.") == "  - id: texts  # the second"
    assert after(moved, "# Old results first.") == "  - id: results"
    assert after(moved, "# why five").startswith("    selection: {type: preserve_recent")
    assert after(moved, "# The end of it.") == "thinking: auto"
    assert ConfigurationDocument(moved).with_moved(("passes",), 0, 1).text == TEXT


def test_what_is_removed_takes_its_comments_along() -> None:
    edited = ConfigurationDocument(TEXT).without(("passes", 0)).text
    assert "Old results" not in edited
    assert "why five" not in edited
    assert "nothing else yet" not in edited
    assert after(edited, "# all of them.") == "  - id: texts  # the second"
    edited = ConfigurationDocument(TEXT).without(("passes", 0, "mode")).text
    assert edited == TEXT.replace("    mode: extract\n    # nothing else yet\n", "", 1)


def test_the_first_key_of_an_item_may_go() -> None:
    edited = ConfigurationDocument(TEXT).without(("passes", 1, "id"))
    assert list(edited.value["passes"][1]) == ["selection", "mode"]
    assert "- selection:\n" in edited.text
    edited = ConfigurationDocument("passes:\n  - id: a\n    # about the mode\n    mode: extract\n").without(
        ("passes", 0, "id")
    )
    assert after(edited.text, "# about the mode").strip() == "mode: extract"


def test_keys_are_added_where_they_belong() -> None:
    edited = ConfigurationDocument(TEXT).with_value(("passes", 0, "extract_config", "min_worth"), 0.2).text
    assert after(edited, "    mode: extract") == "    extract_config: {min_worth: 0.2}"
    edited = (
        ConfigurationDocument(TEXT)
        .with_value(("lossless_prelude", "operations", "consolidate_tool_results"), False)
        .text
    )
    assert "remove_obsolete_state: true, consolidate_tool_results: false}" in edited
    edited = ConfigurationDocument(TEXT).with_value(("keep",), ["tool:Bash", "/a: b/"]).text
    assert edited == TEXT + "keep: ['tool:Bash', '/a: b/']\n"
    assert ConfigurationDocument("").with_value(("preset",), "cost").text == "preset: cost\n"
    assert ConfigurationDocument("# nothing yet\n").with_value(("preset",), "cost").value == {"preset": "cost"}


def test_items_are_added_anywhere() -> None:
    item = {"id": "new", "selection": {"type": "custom"}, "mode": "extract"}
    for index in range(3):
        edited = ConfigurationDocument(TEXT).with_item(("passes",), index, item)
        assert edited.value["passes"][index] == item
        assert after(edited.text, "# all of them.") == "  - id: texts  # the second"
        assert after(edited.text, "# Old results first.") == "  - id: results"
    assert ConfigurationDocument("name: a\n").with_item(("passes",), 0, item).value == {"name": "a", "passes": [item]}
    assert ConfigurationDocument("passes: []\nname: a\n").with_item(("passes",), 0, item).value["passes"] == [item]


def test_comments_inside_what_is_written_anew_move_above_it() -> None:
    text = "keep:\n  # the tests\n  - tool:Bash\n  - 3  # a message\npasses: []\n"
    edited = ConfigurationDocument(text).with_value(("keep",), [])
    assert edited.text == "# the tests\nkeep: []  # a message\npasses: []\n"
    edited = ConfigurationDocument("keep: # one\n  # two\n  - a\npasses: []\n").with_value(("keep",), ["b"])
    assert edited.text == "# one\n# two\nkeep: [b]\npasses: []\n"
    edited = ConfigurationDocument("cut:\n  - 3\n  -\n    # a message\n    4\n").with_value(("cut", 1), "-5 #")
    assert edited.text == "cut:\n  - 3\n  # a message\n  - '-5 #'\n"
    edited = ConfigurationDocument("keep: [a, # one\n  b] # two\n").with_value(("keep",), ["c"])
    assert "# one" in edited.text
    assert "# two" in edited.text


@pytest.mark.parametrize(
    "value", ["a: b", "# no comment", "two\nlines\n", "", "yes", "1", " x ", "[", "é 🎉", "'", '"']
)
def test_any_text_is_written_so_that_it_reads_the_same(value: str) -> None:
    for path in (("name",), ("passes", 1, "selection", "type"), ("lossless_prelude", "operations", "x")):
        assert yaml.safe_load(ConfigurationDocument(TEXT).with_value(path, value).text) is not None
        edited: Any = ConfigurationDocument(TEXT).with_value(path, value).value
        for step in path:
            edited = edited[step]
        assert edited == value


def test_texts_of_several_lines_are_replaced() -> None:
    text = "description: |\n  One.\n  Two.\n\n# about passes\npasses: []\n"
    edited = ConfigurationDocument(text).with_value(("description",), "Three.")
    assert edited.text == "description: Three.\n\n# about passes\npasses: []\n"


# Written anew, with the comments at the top, rather than wrong.
def test_aliases_are_written_out() -> None:
    text = "# why\npasses:\n  - &a {id: x, mode: extract}\n  - *a\n"
    edited = ConfigurationDocument(text).with_value(("passes", 1, "id"), "y")
    assert edited.value == {"passes": [{"id": "x", "mode": "extract"}, {"id": "y", "mode": "extract"}]}
    assert edited.text.startswith("# why\n")


def test_json_stays_json() -> None:
    edited = ConfigurationDocument('{"name": "a", "passes": []}').with_value(("name",), "b").without(("passes",))
    assert json.loads(edited.text) == {"name": "b"}


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [inner for key, item in items for inner in [(*path, key), *_paths(item, (*path, key))]]


# Every preset, edited at random: the text says what was meant, and each comment is still there unless its entry went.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["balanced", "cost", "max", "quality", "speed", "lossless"])
def test_edits_in_a_row_keep_the_comments(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml_editing, "anew")  # Each is an edit in its place.
    chance = random.Random(name)
    document = ConfigurationDocument((presets_folder() / f"{name}.yaml").read_text())
    comments = [line.strip() for line in document.text.split("\n") if line.strip().startswith("#")]
    for number in range(60):
        items = document.value.get("passes", [])
        path = chance.choice(_paths(document.value))
        match chance.randrange(3):
            case 0 if len(items) > 1:
                document = document.with_moved(("passes",), chance.randrange(len(items)), chance.randrange(len(items)))
            case 1 if items:
                document = document.with_item(("passes",), chance.randrange(len(items) + 1), {"id": f"new {number}"})
            case _ if not isinstance(path[-1], int) and path != ("passes",):
                document = document.with_value(path, chance.choice([number, f"a: {number}", True, None]))
    assert list(document.value)[:2] == ["name", "description"]
    left = [line.strip() for line in document.text.split("\n") if line.strip().startswith("#")]
    assert sorted(left) == sorted(comments)
