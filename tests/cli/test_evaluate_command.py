"""`condense evaluate`: in every form of its output, on transcripts where something is known."""

import gzip
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from helpers import condense, condense_on_terminal, condense_process, snapshot
from looked_up import work

from condense_cli.api.evaluating import KNOWN_WAYS
from condense_cli.cli.commands.decide import AGAINST, RECALLS, WITNESSES
from condense_cli.errors import ExitStatus
from condense_cli.quality import recall, witnesses
from condense_cli.quality.cases import SMALLEST
from condense_cli.quality.evaluation import BUDGETS, CUTS

SMALL = ("--min-tokens", "0", "--cuts", "0.5", "-j", "1")
QUICK = (*SMALL, "-p", "speed", "--against", "head")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "sessions"
    found.mkdir()
    for name in ("one.json", "two.json"):
        (found / name).write_bytes(work().source.data)
    (found / "notes.txt").write_text("no transcript")
    return found


def test_the_names_and_defaults_on_the_help_page_are_those_that_are_known() -> None:
    text = re.sub(r"\s+", " ", condense("evaluate", "--help-all").text)
    assert tuple(KNOWN_WAYS) == AGAINST
    assert ", ".join(AGAINST) in text
    assert (recall.RECALLS, witnesses.WITNESSES) == (RECALLS, WITNESSES)
    assert ", ".join((*RECALLS, *WITNESSES)) in text
    assert f"[default: {','.join(map(str, BUDGETS))}; none with --profile or --prompt]" in text
    assert f"[default: {','.join(map(str, CUTS))}]" in text
    assert f"Skip transcripts smaller than this. [default: {SMALLEST};" in text


def test_the_json_holds_every_cut_and_the_totals(folder: Path) -> None:
    before = snapshot(folder)
    done = condense("evaluate", folder, *SMALL, "-p", "speed", "--json")
    found = done.json
    assert (done.status, done.stderr, found["version"]) == (0, "", 2)
    assert snapshot(folder) == before
    assert found["ways"] == ["speed", "mask old results", "first lines", "first and last lines", "drop the oldest"]
    assert found["compared"] == found["ways"][1:]
    assert [Path(one["name"]).name for one in found["transcripts"]] == ["one.json", "two.json"]
    total, one = found["total"], found["transcripts"][0]
    assert (total["cuts"], total["facts"], total["files"]) == (2, 16, 8)
    (cut,) = one["cuts"]
    assert (cut["facts"], cut["files"], one["summary"]["cuts"]) == (8, 4, 1)
    points = {(point["way"], point["setting"]): point for point in cut["points"]}
    assert ("speed", "as it is") in points
    half = points["first lines", "to 50%"]
    assert half["recall"]["facts"] == {"needed": 8, "kept": 4, "named": 0}
    (setting,) = [one for one in total["settings"] if (one["way"], one["setting"]) == ("first lines", "to 50%")]
    assert setting["facts"]["recall"] == 0.5
    assert setting["size"] == half["size"] == half["tokens"] / cut["tokens"]
    (at,) = [at for at in total["at_size"] if (at["way"], at["size"]) == ("drop the oldest", 0.5)]
    assert at["facts"] == at["files"]
    assert at["edits"] is None
    assert {curve["way"] for curve in total["curves"]} == set(found["ways"])


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_the_tables_fit_the_terminal(folder: Path, columns: int) -> None:
    done = condense_on_terminal("evaluate", folder, *SMALL, "--provider", "native", columns=columns)
    assert done.status == 0
    lines = done.plain.split("\r")[-1].splitlines()
    assert max(map(len, lines)) <= columns
    assert "2 transcripts, 2 cuts. Looked for: 16 facts, 0 lines to edit and 8 files." in done.plain
    for way in ("provider native", "mask old results", "first lines", "drop the oldest"):
        assert way in done.plain
    assert "one.json" in done.plain


def test_in_a_pipe_there_are_no_colours_and_no_progress(folder: Path) -> None:
    done = condense_process("evaluate", folder, *QUICK)
    assert (done.status, done.stderr, done.has_colours) == (0, "", False)
    assert "\r" not in done.text
    at_size = done.text[done.text.index("at the same size") :]
    (row,) = re.findall(r"^first lines +(.*)", at_size, re.MULTILINE)
    assert row.split()[:3] == ["100.0", "51.9", "50.0"]


def test_many_budgets_stand_below_each_other(folder: Path) -> None:
    done = condense("evaluate", folder, *QUICK, "--budgets", "0.9,0.8,0.7,0.6,0.5,0.4,0.3", env={"COLUMNS": "80"})
    for measure in ("facts", "edits", "files"):
        assert re.search(rf"^\n{measure} at the same size +90% +80%", done.text, re.MULTILINE)


@pytest.mark.slow
def test_only_the_measures_that_are_named_are_shown(folder: Path) -> None:
    done = condense("evaluate", folder, *QUICK, "--measure", "grounding", "--measure", "facts")
    assert re.search(r"^ +facts +grounding$", done.text, re.MULTILINE)
    assert "grounding: of the next 20 calls" in re.sub(r"\s+", " ", done.text)
    assert "lines that later edits" not in done.text
    assert "named" in done.text
    assert "named" not in condense("evaluate", folder, *QUICK, "--measure", "bits").text
    assert "--measure has no 'bytes'" in condense("evaluate", folder, *QUICK, "--measure", "bytes").message


def test_all_measures_are_in_the_json(folder: Path) -> None:
    default = condense("evaluate", folder / "one.json", *QUICK, "--json").json
    assert default["measures"] == list(RECALLS)
    assert default["transcripts"][0]["cuts"][0]["points"][0]["witnesses"] == {}
    found = condense("evaluate", folder / "one.json", *QUICK, "--measure", "all", "--json").json
    assert found["measures"] == [*RECALLS, *WITNESSES]
    (cut,) = found["transcripts"][0]["cuts"]
    points = {(point["way"], point["setting"]): point["witnesses"] for point in cut["points"]}
    assert points["first lines", "to 50%"].keys() == set(WITNESSES)
    # Of the fact at the beginning and the one in the middle of each file the first is kept, and nothing else is asked.
    assert points["first lines", "to 50%"]["substrings"] == 0.5
    assert points["first lines", "to 50%"]["rereads"] == 0
    assert points["first lines", "to 50%"]["rules"] == 1
    (setting,) = [one for one in found["total"]["settings"] if (one["way"], one["budget"]) == ("first lines", 0.5)]
    assert setting["witnesses"]["substrings"] == {"size": setting["size"], "recall": 0.5, "cuts": 1}
    assert setting["witnesses"]["old_strings"] is None
    (at,) = [at for at in found["total"]["at_size"] if (at["way"], at["size"]) == ("first lines", 0.5)]
    assert at["witnesses"]["substrings"] == at["facts"] > 0.5
    (curve,) = [curve for curve in found["total"]["curves"] if curve["way"] == "first lines"]
    assert curve["witnesses"]["substrings"][-1]["size"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_settings_with_many_measures_keep_their_names(folder: Path, columns: int) -> None:
    done = condense("evaluate", folder / "one.json", *QUICK, "--measure", "all", env={"COLUMNS": str(columns)})
    settings = done.text[done.text.index("\nsetting ") : done.text.index("\nPercent still present")]
    assert max(map(len, settings.splitlines())) <= columns
    parts = settings.strip().split("\n\n")
    assert len(parts) == {80: 3, 120: 2}[columns]
    shown = [name for part in parts for name in part.splitlines()[0].split()]
    assert [name for name in shown if name != "setting"] == ["size", *RECALLS, *WITNESSES, "named", "seconds"]
    for part in parts:
        assert [line.split("  ")[0] for line in part.splitlines()[1:]][:2] == ["speed, as it is", "speed, to 70%"]


def test_standard_input_is_a_transcript() -> None:
    done = condense("evaluate", "-", *QUICK, "--json", stdin=work().source.data)
    assert [one["name"] for one in done.json["transcripts"]] == ["-"]
    assert done.json["total"]["facts"] == 8


def test_the_picture_has_a_line_for_every_way_and_measure(folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curves.svg"
    done = condense("evaluate", folder, *SMALL, "-p", "speed", "--plot", picture)
    assert (done.status, done.stderr) == (0, f"Written: {picture}\n")
    drawn = ElementTree.parse(picture).getroot()
    name = "{http://www.w3.org/2000/svg}"
    # No line was asked to be edited, so there is no such panel.
    assert len(drawn.findall(f"{name}polyline")) == 2 * 5
    texts = [text.text or "" for text in drawn.findall(f"{name}text")]
    assert texts[0] == "2 transcripts, 2 cuts"
    assert "Lines that later edits match" not in texts
    assert {"speed", "drop the oldest"} <= set(texts)
    first = drawn.findall(f"{name}polyline")[0].attrib["points"].split()
    # The untouched conversation is at the top left.
    assert first[-1] == "56.0,78.0"
    # Both panels have the same ticks, on the same heights.
    percents = [(text.text, text.attrib["y"]) for text in drawn.findall(f"{name}text") if "%" in (text.text or "")]
    assert percents[: len(percents) // 2] == percents[len(percents) // 2 :]


def test_the_title_of_one_transcript_is_its_name(folder: Path, tmp_path: Path) -> None:
    long = folder / f"{'very-' * 20}long.json"
    long.write_bytes((folder / "one.json").read_bytes())
    for path, title in ((folder / "one.json", r"one\.json, 1 cut"), (long, r"…[very-]{1,40}long\.json, 1 cut")):
        done = condense("evaluate", path, *QUICK, "--measure", "facts", "--plot", tmp_path / "a.svg")
        assert done.status == 0
        assert re.search(f'font-weight="bold">{title}<', (tmp_path / "a.svg").read_text())


# Points without a target are no part of a line, which would go to and fro.
def test_a_line_joins_the_settings_with_a_target_alone(folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    assert condense("evaluate", folder, *SMALL, "-p", "speed", "--against", "none", "--plot", picture).status == 0
    drawn = ElementTree.parse(picture).getroot()
    name = "{http://www.w3.org/2000/svg}"
    for line in drawn.findall(f"{name}polyline"):
        # Three targets and the untouched conversation.
        assert len(line.attrib["points"].split()) == 4
    rings = [one for one in drawn.findall(f"{name}circle") if one.attrib["fill"] == "#ffffff"]
    assert len(rings) == 2


@pytest.mark.slow
def test_a_picture_has_no_more_than_six_lines(folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    assert condense("evaluate", folder / "one.json", *SMALL, "--measure", "facts", "--plot", picture).status == 0
    drawn = ElementTree.parse(picture).getroot()
    name = "{http://www.w3.org/2000/svg}"
    lines = [line.attrib["points"] for line in drawn.findall(f"{name}polyline")]
    assert 2 < len(set(lines)) == len(lines) <= 6
    texts = [text.text or "" for text in drawn.findall(f"{name}text")]
    assert re.fullmatch(r"Single rings: .* The tables have \d more ways\.", texts[-1])


def test_a_name_cannot_break_the_picture(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "<b>&.yaml"
    config.write_text("name: odd\n")
    done = condense("evaluate", folder, *SMALL, "--config", config, "--plot", tmp_path / "a.svg")
    assert done.status == 0
    texts = [text.text for text in ElementTree.parse(tmp_path / "a.svg").getroot().iter()]
    assert str(config) in texts


def test_a_png_is_drawn_by_a_package_of_its_own(folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curves.png"
    assert condense("evaluate", folder, *QUICK, "--plot", picture).status == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_that_package_it_says_so_before_any_work(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    done = condense("evaluate", folder, *QUICK, "--plot", tmp_path / "curves.png")
    assert done.status == ExitStatus.USAGE
    assert "-m pip install 'resvg-py>=" in done.message
    assert not (tmp_path / "curves.png").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--budgets", "1.5"), ExitStatus.USAGE, "--budgets must be shares between 0 and 1, not '1.5'"),
        (("--cuts", "half"), ExitStatus.USAGE, "--cuts must be shares"),
        (("--against", "nobody"), ExitStatus.USAGE, "--against has no 'nobody'"),
        (("--plot", "curves.pdf"), ExitStatus.USAGE, ".svg or .png"),
        (("--plot", "missing/curves.svg"), ExitStatus.FAILED, "There is no folder missing"),
        (("--provider", "natve"), ExitStatus.USAGE, "native"),
        (("--preset", "spede"), ExitStatus.USAGE, "Did you mean speed?"),
        (("--config", "missing.yaml"), ExitStatus.USAGE, "missing.yaml"),
    ],
)
def test_what_cannot_be_measured_is_one_clear_message(
    folder: Path, arguments: tuple[str, ...], status: ExitStatus, said: str
) -> None:
    done = condense("evaluate", folder, *arguments)
    assert (done.status, done.stdout) == (status, b"")
    assert said in done.message


# What `run` finds in a folder and reads, this does too.
def test_compressed_files_and_names_in_capitals_are_measured(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep/packed.JSON.gz").write_bytes(gzip.compress((folder / "one.json").read_bytes()))
    (folder / ".hidden").mkdir()
    (folder / ".hidden/one.json").write_bytes(b"{}")
    found = condense("evaluate", folder, *QUICK, "--json").json
    names = [Path(one["name"]).name for one in found["transcripts"]]
    assert (names, found["unread"]) == (["one.json", "two.json", "packed.JSON.gz"], [])
    one, _, packed = ([cut["tokens"] for cut in each["cuts"]] for each in found["transcripts"])
    assert one == packed


def test_providers_are_measured_as_the_user_configures_them(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sizes() -> list[int]:
        done = condense("evaluate", folder, *SMALL, "--provider", "truncation", "--against", "none", "--json")
        return [point["tokens"] for point in done.json["transcripts"][0]["cuts"][0]["points"]]

    usual = sizes()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "condense").mkdir()
    (tmp_path / "condense/condense.yaml").write_text("{providers: {truncation: {config: {max_tool_result_lines: 1}}}}")
    assert sizes() != usual


def test_a_folder_without_transcripts_is_a_usage_error(tmp_path: Path) -> None:
    assert "There is no transcript in" in condense("evaluate", tmp_path).message


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_measured(folder: Path) -> None:
    (folder / "broken.json").write_text("{")
    done = condense("evaluate", folder, *QUICK)
    assert done.status == ExitStatus.DONE
    assert "2 transcripts, 2 cuts." in done.text
    assert re.search(r"Not read:\s\S*broken\.json", done.text)
    for number in range(7):
        (folder / f"more{number}.json").write_text("{")
    many = condense("evaluate", folder, *QUICK).text
    assert many.count("Not read:") == 6
    assert "Not read: 3 more, listed by --json." in many
    alone = condense("evaluate", folder / "broken.json", *QUICK)
    assert alone.status == ExitStatus.INPUT
    assert "There is nothing to measure." in alone.text


def test_what_is_left_out_is_said(folder: Path) -> None:
    done = condense("evaluate", folder, "-p", "speed", "-j", "1")
    assert done.status == ExitStatus.DONE
    assert "Left out (2): the transcript is too small for --min-tokens." in done.text
    assert json.loads(condense("evaluate", folder, "-p", "speed", "-j", "1", "--json").text)["total"]["cuts"] == 0
