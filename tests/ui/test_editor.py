"""The editor of configurations: passes, forms from the schema, faults where they are, and the text that is saved."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from app_runs import DESK, app_of, editor_screen, enter, opened, press, run, said, screen_text, session_screen, settled
from textual.pilot import Pilot

from condense_cli import api
from condense_cli.config.loading import PACKAGED, parse_configuration
from condense_cli.config.preset_folders import presets_folder
from condense_cli.errors import UsageError
from condense_cli.ui.choice import Configurations, UserChoice
from condense_cli.ui.editing import TEMPLATES, Edited, Field, FieldFault, fault_at, fields, pass_settings
from condense_cli.ui.editor_screen import EditorScreen
from condense_cli.ui.widgets import Rows

BALANCED = (presets_folder() / "balanced.yaml").read_text()


def edited(text: str) -> Edited:
    return Edited(text, DESK.configurations)


def field_of(found: list[Field], *path: str | int) -> Field:
    return next(field for field in found if field.path == path)


def move_to(pilot: Pilot[None], name: str) -> None:
    """Put the cursor of the form on a setting."""
    editor = editor_screen(pilot)
    pilot.app.screen.query_one("#form", Rows).current = next(
        number for number, field in enumerate(editor.fields) if field.name == name
    )


def test_the_form_is_made_of_the_schema() -> None:
    found = edited(BALANCED).form(edited(BALANCED).parts()[2])
    assert field_of(found, "passes", 1, "selection", "keep_recent_count").value == 5
    mode = field_of(found, "passes", 1, "mode")
    assert (mode.kind, mode.choices) == ("choice", ("batch", "extract", "individual", "target"))
    assert "Blocks of fewer than" in field_of(found, "passes", 1, "extract_config").expects
    worth = field_of(found, "passes", 1, "extract_config", "min_worth")
    assert (worth.kind, worth.value, worth.depth) == ("number", 0.3, 1)
    assert field_of(found, "passes", 1, "batch_config").shown == "(none)"
    whole = {field.name: field.kind for field in fields((), {})}
    assert whole["thinking"] == "choice"
    assert whole["auto_condense_context_percent"] == "number"
    assert whole["keep"] == "texts"
    assert whole["pins"] == "yaml"
    assert not {"passes", "lossless_prelude", "llm_phase"} & whole.keys()


# Every key of every part: what the form shows as the default is what the loader takes for it.
def test_every_part_has_a_form() -> None:
    one = edited(BALANCED)
    assert [part.title for part in one.parts()[:3]] == ["Configuration", "to-target", "worth"]
    for part in one.parts():
        assert one.form(part), part


@pytest.mark.parametrize("mode", TEMPLATES)
def test_passes_that_are_added_work(mode: str) -> None:
    one = edited(BALANCED).with_pass(1, mode).with_pass(1, mode)
    assert one.fault is None
    assert [config["id"] for config in one.passes[1:3]] == [f"{mode}-2", f"{mode}-1"]


def test_a_pass_that_is_off_does_nothing(file: Path) -> None:
    text = (presets_folder() / "speed.yaml").read_text()
    one = edited(text)
    for index in range(len(one.passes)):
        one = one.switched(index)
    off = api.condense(api.load(file), parse_configuration(one.text))
    without = api.condense(api.load(file), parse_configuration(text.split("passes:")[0] + "passes: []\n"))
    assert off.shown_after == without.shown_after > api.condense(api.load(file), preset="speed").shown_after
    for index in range(len(one.passes)):
        one = one.switched(index)
    assert one.text == text


def test_faults_are_told_where_they_are() -> None:
    one = edited(BALANCED).with_value(("passes", 1, "mode"), "batch")
    assert one.fault is not None
    assert one.fault.path == ("passes", 1)
    assert "a batch pass needs batch_config" in one.fault.said
    form = one.form(one.parts()[2])
    assert fault_at(FieldFault(("passes", 1, "selection", "regex"), ""), form) == form.index(
        field_of(form, "passes", 1, "selection", "regex")
    )
    assert fault_at(one.fault, form) is None
    assert one.with_value(("passes", 1, "batch_config"), {"operation": "keep"}).fault is None


@pytest.mark.parametrize(
    ("path", "typed", "expected"),
    [
        (("target_tokens",), "60000", 60_000),
        (("name",), "yes: no", "yes: no"),
        (("keep",), "tool:Bash, 3", ["tool:Bash", "3"]),
        (("pins",), "[{regex: TODO}]", [{"regex": "TODO"}]),
    ],
)
def test_what_is_typed_becomes_the_value(path: tuple[str], typed: str, expected: Any) -> None:
    one = edited(BALANCED)
    assert yaml.safe_load(one.typed(field_of(fields((), one.values), *path), typed).text)[path[0]] == expected


@pytest.mark.parametrize(
    ("key", "typed"), [("target_tokens", "many"), ("keep_first", "-1"), ("pins", "[{"), ("keep", "tool:")]
)
def test_what_cannot_be_is_refused(key: str, typed: str) -> None:
    one = edited(BALANCED)
    with pytest.raises(UsageError):
        one.typed(field_of(fields((), one.values), key), typed)


# As they are of the preset, they are written out before one is edited.
def test_passes_of_a_preset_can_be_edited() -> None:
    one = edited("preset: speed\n# mine\nkeep_first: 2\n")
    assert len(one.passes) > 0
    changed = one.with_value(("passes", 0, "name"), "First")
    assert changed.fault is None
    assert changed.document.value["passes"] == [{**one.passes[0], "name": "First"}, *one.passes[1:]]
    assert "# mine\nkeep_first: 2" in changed.text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"id": "a"}, "individual · always"),
        ({"mode": "batch", "execution": {"type": "always"}}, "batch · always"),
        ({"mode": "extract", "execution": {"type": "target"}}, "extract · with a target"),
        ({"mode": "target"}, "target · with a target"),
        (
            {"mode": "batch", "execution": {"type": "conditional", "condition": {"token_threshold": 50_000}}},
            "batch · if > 50,000 tokens",
        ),
        ({"mode": "batch", "execution": {"type": "conditional"}}, "batch · if > ? tokens"),
        ({"mode": "batch", "execution": "later"}, "batch · ?"),
    ],
)
def test_mode_condition_and_threshold_of_a_pass(values: dict[str, Any], expected: str) -> None:
    assert pass_settings(values) == expected


def test_the_list_of_passes_shows_them() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        assert "  target · with a target" in screen_text(pilot)
        await press(pilot, "down", "down")
        editor = editor_screen(pilot)
        assert editor.part.title == "worth"  # The cursor passes over them.
        await press(pilot, "up")
        assert editor.part.title == "to-target"
        await press(pilot, "end", "home")
        assert editor.part.title == "Configuration"

    run(app_of(editor=EditorScreen(UserChoice("balanced"), DESK.configurations, None)), steps)


@pytest.mark.slow
def test_the_editor_shows_the_effect_of_each_pass(file: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        before = session_screen(pilot).view
        assert before is not None
        await press(pilot, "e")
        editor = editor_screen(pilot)
        shown = screen_text(pilot)
        effects = [receipt for receipt in before.result.passes if receipt.changes and receipt.id != "prelude"]
        assert effects
        for receipt in effects:
            assert f"{receipt.tokens_after - receipt.tokens_before:+,}" in shown
        await press(pilot, *["down"] * len(editor.edited.passes), "space")
        assert "off" in screen_text(pilot)
        await press(pilot, "q")
        screen = session_screen(pilot)
        assert "(edited)" in said(pilot, "choice")
        assert screen.view is not None
        assert screen.view.totals.after >= before.totals.after
        await press(pilot, "u")
        assert screen.history.choice == UserChoice("speed")

    run(app_of(opened(file)), steps)


@pytest.mark.slow
def test_passes_move_with_their_comments_and_are_saved(tmp_path: Path) -> None:
    home = tmp_path / "presets" / "balanced.yaml"

    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await press(pilot, *["down"] * 2, "K")
        editor = editor_screen(pilot)
        assert editor.edited.passes[0]["id"] == "worth"
        assert editor.part.title == "worth"
        await press(pilot, "down", "d", "a", "e", "s", "enter")
        assert str(home) in said(pilot)
        saved = home.read_text()
        assert "worth" in [config.id for config in parse_configuration(saved).passes]
        lines = saved.split("\n")
        assert lines[lines.index("  - id: worth") - 1].startswith("  # Without a target: lines go")
        await press(pilot, "u")
        assert not home.exists()

    editor = EditorScreen(UserChoice("balanced"), DESK.configurations, None, home)
    run(app_of(editor=editor), steps)


@pytest.mark.slow
def test_settings_are_changed_in_the_form() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await settled(pilot)
        editor = editor_screen(pilot)
        await press(pilot, *["down"] * 2, "tab")
        move_to(pilot, "keep_recent_count")
        await press(pilot, "enter")
        await enter(pilot, "x")
        assert "expected a whole number" in said(pilot, "fault")
        await enter(pilot, "7")
        assert editor.edited.passes[1]["selection"]["keep_recent_count"] == 7
        move_to(pilot, "mode")
        await press(pilot, "enter", "home", "enter")
        assert "needs batch_config" in said(pilot, "fault")
        assert "! 2          worth" in screen_text(pilot)
        await press(pilot, "s")
        assert "Not saved" in said(pilot)
        await press(pilot, "q", "s")
        move_to(pilot, "batch_config")
        await press(pilot, "enter")
        assert said(pilot, "fault").startswith("valid")
        await press(pilot, "delete")
        assert not said(pilot, "fault").startswith("valid")
        await press(pilot, "u", "u", "u")
        move_to(pilot, "stop_at_target")
        await press(pilot, "space")
        assert editor.edited.passes[1]["stop_at_target"] is True

    run(app_of(editor=EditorScreen(UserChoice("balanced"), DESK.configurations, None)), steps)


def test_what_names_something_is_picked_from_the_names() -> None:
    known = Configurations(PACKAGED, ["smart", "native"], ["fast"])
    one = Edited(BALANCED, known)
    whole = {field.name: field for field in one.form(one.parts()[0])}
    assert (whole["provider"].kind, whole["provider"].choices) == ("choice", ("smart", "native"))
    assert whole["profile"].choices == ("fast",)
    assert "speed" in whole["preset"].choices
    assert whole["name"].kind == "text"
    assert one.typed(whole["provider"], "native").values["provider"] == "native"
