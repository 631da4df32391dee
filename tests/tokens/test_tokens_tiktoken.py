"""tiktoken counts on request: by what this machine has, without a download, and the same in every process."""

import base64
import hashlib
import json
import pickle
import socket
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import pytest
import rowsets
from helpers import DATA, condense
from hypothesis import given
from imported import outcome
from strategies import TEXTS

import condense_cli
from condense_cli import api
from condense_cli.calling import Calls
from condense_cli.cli import options
from condense_cli.cli.running.job import Treatment, Work
from condense_cli.cli.running.many import rules_of
from condense_cli.cli.running.rows import RowsTask, condense_batch
from condense_cli.cli.running.workers import apart
from condense_cli.config.loading import parse_configuration
from condense_cli.errors import UsageError
from condense_cli.rows.reading import RowLines, rows_in
from condense_cli.tokens import counting, tiktoken_counter
from condense_cli.tokens.counting import COUNTERS, count_text, encoding_for

OLD: Final = "text-davinci-003"
"""A model whose vocabulary, p50k_base, comes with no package."""

URL: Final = "https://example.invalid/p50k_base.tiktoken"
LETTERS: Final = b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
"""The file of a vocabulary in which every byte is a token."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """tiktoken's cache, empty; a download fails the test."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    folder = tmp_path / "data-gym-cache"
    folder.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing is known from tests before, nor to those that follow."""
    _forget()
    yield
    _forget()


@pytest.fixture
def small(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """tiktoken expects LETTERS for p50k_base."""
    copy_of = tiktoken_counter._copy_of

    def copied(name: str) -> Any:
        module = copy_of(name)
        if name == "tiktoken_ext.openai_public":
            module.ENCODING_CONSTRUCTORS["p50k_base"] = lambda: {
                "name": "p50k_base",
                "pat_str": module.r50k_pat_str,
                "mergeable_ranks": module.load_tiktoken_bpe(URL, hashlib.sha256(LETTERS).hexdigest()),
                "special_tokens": {},
            }
        return module

    monkeypatch.setattr(tiktoken_counter, "_copy_of", copied)


@pytest.fixture
def sevens(fresh: None, monkeypatch: pytest.MonkeyPatch) -> int:
    """With tiktoken every text has seven tokens; this is a message of one text."""
    monkeypatch.setattr(tiktoken_counter, "counter_of", lambda encoding: lambda text: 7)
    return counting.MESSAGE_TOKENS + 7


def _forget() -> None:
    tiktoken_counter._encoding.cache_clear()
    counting._counter.cache_clear()


def fill(folder: Path, data: bytes = LETTERS) -> Path:
    path = folder / hashlib.sha1(URL.encode()).hexdigest()
    path.write_bytes(data)
    return path


# The vocabularies of newer models are spelled again from the installed counter, and count without a network.
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "gpt-oss-20b", "claude-opus-5", None])
def test_newer_encodings_are_here(model: str | None) -> None:
    encoding = encoding_for(model, "tiktoken")
    own = encoding_for(model)
    assert (encoding.exact, encoding.counter, encoding.missing) == (own.exact, "tiktoken", "")
    text = "def total(items): return 12345 # größer"
    assert count_text(text, encoding.name, counter="tiktoken") == count_text(text, own.name)


# A vocabulary with another hash than tiktoken's is none: nothing is counted with it.
@pytest.mark.slow
def test_a_vocabulary_counts_by_its_hash(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tiktoken_counter._RANKS, "o200k_base", 199_997)
    assert not tiktoken_counter.is_here("o200k_base")
    assert tiktoken_counter.is_here("cl100k_base")
    with pytest.raises(UsageError, match="o200k_base"):
        count_text("text", counter="tiktoken")


# Nothing of tiktoken itself is changed for others: its own functions go on as they were.
def test_tiktoken_stays_as_it_is() -> None:
    import tiktoken.load
    import tiktoken_ext.openai_public as public

    assert tiktoken_counter.is_here("cl100k_base")
    assert public.load_tiktoken_bpe is tiktoken.load.load_tiktoken_bpe
    assert tiktoken.load.read_file_cached.__module__ == "tiktoken.load"


# An older encoding is exact where tiktoken's cache holds its file, and an estimate that says so where not.
def test_older_encodings_need_the_cache(cache: Path, small: None) -> None:
    missing = encoding_for(OLD, "tiktoken")
    assert (missing.name, missing.exact, missing.missing) == ("o200k_base", False, "p50k_base")
    fill(cache)
    _forget()
    encoding = encoding_for(OLD, "tiktoken")
    assert (encoding.name, encoding.exact, encoding.missing) == ("p50k_base", True, "")
    assert count_text("größer", "p50k_base", counter="tiktoken") == len("größer".encode())
    assert not encoding_for(OLD).exact, "without being asked nothing depends on the machine"


# A damaged file in the cache is not used, and not removed: it is not ours.
def test_a_damaged_file_stays(cache: Path, small: None) -> None:
    path = fill(cache, LETTERS[:-9])
    assert encoding_for(OLD, "tiktoken").missing == "p50k_base"
    assert path.read_bytes() == LETTERS[:-9]


# The cache is where tiktoken looks for it.
@pytest.mark.parametrize(
    ("named", "is_found"),
    [
        ({"TIKTOKEN_CACHE_DIR": "here", "DATA_GYM_CACHE_DIR": "elsewhere"}, True),
        ({"TIKTOKEN_CACHE_DIR": "elsewhere", "DATA_GYM_CACHE_DIR": "here"}, False),
        ({"DATA_GYM_CACHE_DIR": "here"}, True),
        ({}, True),
        ({"TIKTOKEN_CACHE_DIR": ""}, False),
        ({"TIKTOKEN_CACHE_DIR": "a\nb"}, False),
    ],
)
def test_the_cache_is_where_tiktoken_has_it(
    cache: Path, small: None, monkeypatch: pytest.MonkeyPatch, named: dict[str, str], is_found: bool
) -> None:
    fill(cache)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(cache.parent))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    for name, folder in named.items():
        monkeypatch.setenv(name, str(cache) if folder == "here" else folder)
    assert tiktoken_counter.is_here("p50k_base") is is_found


# Texts too long for tiktoken's engine are split without it, into the same pieces.
@given(TEXTS)
@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_long_texts_are_split_alike(name: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiktoken_counter, "_SPLITTABLE", 3)
        assert count_text(text, name, counter="tiktoken") == count_text(text, name)


# Splitting at the limit itself is within what tiktoken's engine can do.
@pytest.mark.slow
@pytest.mark.parametrize("character", [" ", "\t", "\n", "a", "A", ".", "1", "\u0301"])
def test_the_limit_is_low_enough(character: str) -> None:
    text = character * tiktoken_counter._SPLITTABLE
    for name in ("o200k_base", "cl100k_base"):
        assert count_text(text, name, counter="tiktoken") == count_text(text, name)


# The Python functions take it as an argument, and from a configuration.
def test_python_functions_take_it() -> None:
    transcript = condense_cli.loads(DATA)
    plain = condense_cli.condense(transcript, preset="speed")
    for asked in (
        api.condense(transcript, preset="speed", counter="tiktoken"),
        api.condense(transcript, {"preset": "speed", "counter": "tiktoken"}),
    ):
        assert (asked.tokens_before, asked.tokens_after) == (plain.tokens_before, plain.tokens_after)
        assert api.dump(asked) == api.dump(plain)
    assert condense_cli.diff(transcript, plain.transcript, "tiktoken").counter == "tiktoken"
    assert condense_cli.estimate(transcript, presets=["speed"], counter="tiktoken").before.counter == "tiktoken"
    with pytest.raises(UsageError, match="'tikktoken'"):
        api.condense(transcript, counter="tikktoken")  # type: ignore[arg-type]


# A configuration decides what really counts, and an argument goes before it.
def test_the_configuration_decides(sevens: int) -> None:
    transcript = condense_cli.loads([{"role": "user", "content": "Please look around."}])
    chosen = {"preset": "speed", "counter": "tiktoken"}
    assert api.condense(transcript, chosen).tokens_before == sevens
    assert api.condense(transcript, chosen, counter="built-in").tokens_before < sevens


# Evaluations are counted with it, too.
def test_evaluations_count_with_it(sevens: int, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Please look around."}]
    found = condense_cli.evaluate(condense_cli.loads(messages), presets=["speed"], counter="tiktoken")
    assert found.tokens == sevens
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(messages))
    printed = condense("evaluate", str(path), "-p", "speed", "--counter", "tiktoken", "--json").json
    assert printed["transcripts"][0]["tokens"] == sevens


# A batch of rows that another process works on is counted as here.
@pytest.mark.slow
def test_rows_in_other_processes_count_alike(fresh: None, rows_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = rows_file.read_bytes()
    kind = rows_in(str(rows_file), None)
    assert kind is not None
    configuration = parse_configuration("preset: speed\ncounter: tiktoken\n")
    treatment = Treatment(Work(configuration), Calls())
    task, batch = pickle.loads(pickle.dumps((RowsTask("rows", kind, treatment), RowLines(1, data.splitlines(True)))))
    do = partial(condense_batch, task, kind)
    plain = apart(do, treatment, batch)[0]
    counting._counter.cache_clear()
    monkeypatch.setattr(tiktoken_counter, "counter_of", lambda encoding: len)
    assert apart(do, treatment, batch)[0].tally.tokens_before > 2 * plain.tally.tokens_before


# Files that another counter counted are not up to date.
def test_files_are_counted_anew_by_another_counter() -> None:
    one, other = (Treatment(Work(parse_configuration(f"counter: {name}\n")), Calls()) for name in COUNTERS)
    assert rules_of(one) != rules_of(other)


COMMANDS: Final[dict[str, tuple[list[str], Callable[[Any], dict[str, Any]]]]] = {
    "run": (["-n", "--preset", "speed"], lambda found: found["tokens"]),
    "inspect": ([], lambda found: found["tokens"]),
    "check": (["--context-window", "100k"], lambda found: found["used"]),
    "estimate": (["speed"], lambda found: found["before"]),
    "diff": (["--preset", "speed"], lambda found: found["tokens"]),
}


# Every command that counts takes the flag, the variable and the setting, says what counted, and counts the same.
@pytest.mark.slow
@pytest.mark.parametrize("way", ["flag", "variable", "setting"])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_it(command: str, way: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more, of = COMMANDS[command]
    monkeypatch.chdir(file.parent)
    arguments = [command, file.name, *more, "--json", *([] if command == "diff" else ["-m", "gpt-4o"])]
    plain = of(condense(*arguments).json)
    assert plain["counter"] == "built-in"
    if way == "flag":
        arguments += ["--counter", "tiktoken"]
    elif way == "variable":
        monkeypatch.setenv("CONDENSE_COUNTER", "tiktoken")
    else:
        Path(".git").mkdir()
        Path("condense.yaml").write_text("counter: tiktoken\n")
    assert of(condense(*arguments).json) == plain | {"counter": "tiktoken"}


# The flag goes before the setting.
def test_the_flag_goes_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDENSE_COUNTER", "tiktoken")
    for command, (more, of) in COMMANDS.items():
        found = condense(command, str(file), *more, "--json", "--counter", "built-in").json
        assert of(found)["counter"] == "built-in"


# Rows and many files count with it in several processes.
@pytest.mark.slow
def test_several_processes_take_it(tmp_path: Path, rows_file: Path, file: Path) -> None:
    asked = ("--counter", "tiktoken")
    rows = condense("run", str(rows_file), *rowsets.SPEED, "--json", "-n", "-j", "2", *asked).json["tokens"]
    assert rows["counter"] == "tiktoken"
    assert rows == condense("run", str(rows_file), *rowsets.SPEED, "--json", "-n").json["tokens"] | {
        "counter": "tiktoken"
    }
    assert condense("inspect", str(rows_file), "--json", *asked).json["counter"] == "tiktoken"
    estimates = condense("estimate", str(rows_file), "speed", "--json", *asked).json["presets"]
    assert [each["tokens"] for each in estimates] == [rows]
    other = file.with_name("other.jsonl")
    other.write_bytes(DATA)
    many = ("run", str(file), str(other), "--out-dir", str(tmp_path / "out"), "-j", "2", "-p", "speed", "--json")
    found, plain = condense(*many, *asked).json, condense(*many).json
    assert found["tokens"]["before"] == plain["tokens"]["before"] > 0


# Without the model's own vocabulary every report says that the count is an estimate, and why.
@pytest.mark.parametrize("command", ["run", "inspect", "check", "estimate"])
def test_reports_say_that_a_count_is_estimated(command: str, file: Path) -> None:
    more, of = COMMANDS[command]
    arguments = [command, str(file), *more, "-m", OLD, "--counter", "tiktoken"]
    found = condense(*arguments, "--json").json
    assert of(found)["exact"] is False
    assert of(found)["counter"] == "tiktoken"
    assert any("p50k_base" in warning and "o200k_base" in warning for warning in found["warnings"])
    assert "p50k_base" in " ".join(condense(*arguments).plain.split())


# So do reports of rows.
def test_reports_of_rows_say_that_a_count_is_estimated(rows_file: Path) -> None:
    found = condense("run", str(rows_file), *rowsets.SPEED, "-m", OLD, "--counter", "tiktoken", "-n", "--json").json
    assert found["tokens"]["exact"] is False
    assert any("p50k_base" in warning for warning in found["warnings"])


# A counter that there is not is refused where it is named.
def test_unknown_counters_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert condense("inspect", file.name, "--counter", "vendor").status == 2
    monkeypatch.setenv("CONDENSE_COUNTER", "vendor")
    found = condense("run", file.name)
    assert (found.status, "CONDENSE_COUNTER: 'vendor' is not one of built-in, tiktoken" in found.stderr) == (2, True)


# The flag offers the counters that there are.
def test_the_flag_offers_every_counter() -> None:
    choice, _ = get_args(get_args(options.CounterOption)[0])
    assert get_args(choice) == COUNTERS


# Counting with tiktoken imports nothing that could download.
@pytest.mark.slow
def test_nothing_that_downloads_is_imported(tmp_path: Path, file: Path) -> None:
    printed, modules = outcome(tmp_path, "inspect", str(file), "--counter", "tiktoken", "--json")
    assert json.loads(printed)["tokens"]["counter"] == "tiktoken"
    assert "tiktoken" in modules
    assert not modules & {"requests", "urllib3", "blobfile"}
