"""Each parameter of the Python API has its effect: none is lost on the way."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from build import LONG, anthropic, assistant, claude_line, conversation, read_turn, session, user
from summarizers import Short

from condense_cli import api
from condense_cli.api import estimating
from condense_cli.config.loading import parse_configuration
from condense_cli.config.models import Configuration
from condense_cli.config.options import NO_OVERRIDES
from condense_cli.config.overrides import overrides_from
from condense_cli.core.transcript import Transcript
from condense_cli.errors import NotJsonError, UnknownFormatError, UsageError
from condense_cli.passes.context import Context
from condense_cli.passes.offline import Offline
from condense_cli.providers import manager
from condense_cli.providers.registry import Registry
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import Factor, Known
from condense_cli.window.use import Sizing

LINES = b'{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}\n'
TWICE = Factor(2.0, Known.TABLE, 0.1)


def talk(turns: int = 9) -> Transcript:
    return anthropic(*conversation(turns))


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("talk.jsonl.gz" if packed else "talk.jsonl")
    path.write_bytes(gzip.compress(LINES) if packed else LINES)
    assert api.load(path) == api.load(str(path)) == api.loads(LINES) == api.loads(LINES.decode())
    assert api.load(path, format="openai-chat").format == api.loads(LINES, format="openai-chat").format == "openai-chat"


def test_a_line_that_is_no_json_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(LINES + b"no json\n")
    with pytest.raises(NotJsonError, match=r"talk\.jsonl"):
        api.load(path)
    with pytest.raises(NotJsonError):
        api.loads(path.read_bytes())
    assert api.dump(api.load(path, lenient=True)) == api.dump(api.loads(path.read_bytes(), lenient=True))


def test_what_is_not_known_is_named(tmp_path: Path) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "x"}')
    with pytest.raises(UnknownFormatError, match=r"package\.json"):
        api.load(path)


@pytest.mark.parametrize("given", [bytearray(LINES), LINES.decode(), list(map(json.loads, LINES.splitlines()))])
def test_bytes_text_and_lists_are_the_same(given: Any) -> None:
    assert [message.blocks[0].text for message in api.loads(given).messages] == ["a", "b"]


def test_half_a_character_is_read_from_text_and_from_lists() -> None:
    said = [{"role": "user", "content": "a\ud800"}]
    assert api.loads(said).messages[0].blocks[0].text == "a\ud800"
    assert api.loads(json.dumps(said)).messages[0].blocks[0].text == "a\ud800"
    with pytest.raises(NotJsonError):
        api.loads('[{"role": "user", "content": "a\ud800"')


class Answer:
    """As the objects of an SDK."""

    def __init__(self, text: str) -> None:
        self.text = text

    def model_dump(self, **options: Any) -> dict[str, Any]:
        assert options == {"mode": "json", "exclude_unset": True}
        return {"role": "assistant", "content": self.text}


@pytest.mark.parametrize("text", ["b", "b\ud800"])
def test_objects_of_an_sdk_may_stand_in_a_list(text: str) -> None:
    read = api.loads([{"role": "user", "content": "a"}, Answer(text)])
    assert read.messages[1].blocks[0].text == text


def test_other_objects_may_not() -> None:
    with pytest.raises(UsageError) as caught:
        api.loads([{"role": "user", "content": {1, 2}}, object()])
    assert caught.value.message == "A message holds a object, which is not JSON."
    assert caught.value.hint == "Give dicts, lists and strings."


class Asked:
    """Record the manager's questions in place of answering them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = manager.Manager.condense

        def condense(self: Any, transcript: Transcript, configuration: Any, context: Context, sizing: Sizing) -> Any:
            held.transcript, held.configuration = transcript, configuration
            held.context, held.sizing = context, sizing
            return real(self, transcript, configuration, context, sizing)

        held = self
        self.transcript: Any = None
        self.configuration: Any = None
        self.context: Any = None
        self.sizing: Any = None
        monkeypatch.setattr(manager.Manager, "condense", condense)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def test_without_anything_the_usual_preset_is_taken(asked: Asked) -> None:
    transcript = talk()
    api.condense(transcript)
    assert asked.configuration.name == "balanced"
    assert asked.transcript is transcript
    assert asked.context.stop_at_target is False
    assert asked.context.overrides == NO_OVERRIDES
    assert asked.sizing.only_if_needed is False
    assert isinstance(asked.context.summarizer, Offline)


def test_without_anything_the_active_provider_is_taken_with_its_defaults(asked: Asked) -> None:
    registry = Registry(active="truncation")
    api.condense(talk(), registry=registry)
    assert asked.configuration == Configuration(provider="truncation")
    api.condense(talk(), preset="speed", registry=registry)
    assert asked.configuration.name == "speed"
    api.condense(talk(), registry=Registry())
    assert asked.configuration.name == "balanced"


def test_a_preset_a_configuration_and_its_file_are_taken(asked: Asked) -> None:
    api.condense(talk(), preset="speed")
    assert asked.configuration.name == "speed"
    configuration = parse_configuration('{"name": "mine", "keep_first": 3}')
    api.condense(talk(), configuration)
    assert asked.configuration == configuration
    api.condense(talk(), {"name": "mine", "keepFirst": 3})
    assert asked.configuration == configuration


def test_a_target_takes_the_place_of_that_of_the_configuration(asked: Asked) -> None:
    mine = {"target_reduction_percent": 50}
    api.condense(talk(), mine, factor=TWICE)
    assert (asked.configuration.target_reduction_percent, asked.context.stop_at_target) == (50, False)
    api.condense(talk(), mine, target_tokens=0)
    assert (asked.configuration.target_tokens, asked.configuration.target_reduction_percent) == (0, None)
    assert asked.context.stop_at_target is True
    with pytest.raises(UsageError) as caught:
        api.condense(talk(), target_tokens=-1)
    assert caught.value.message == "target_tokens cannot be -1."


def test_model_counter_summarizer_clock_and_factor_are_those_that_are_given(asked: Asked) -> None:
    count, summarizer = Counter(), Short()
    given = overrides_from(pins=["bug"])
    api.condense(
        talk(),
        {},
        model="claude-opus-4-5",
        counter=count,
        summarizer=summarizer,
        clock=lambda: 7.0,
        overrides=given,
        factor=TWICE,
    )
    assert asked.transcript.model == "claude-opus-4-5"
    assert (asked.context.count, asked.context.summarizer) == (count, summarizer)
    assert asked.context.clock() == 7.0
    assert (asked.context.overrides, asked.context.factor) == (given, TWICE)


def test_the_counter_of_the_configuration_is_taken_where_no_other_is_given(asked: Asked) -> None:
    api.condense(talk(), {"counter": "tiktoken"})
    assert asked.context.count.counter == "tiktoken"
    api.condense(talk(), {"counter": "tiktoken"}, counter="built-in")
    assert asked.context.count.counter == "built-in"
    api.condense(talk(), {}, counter="tiktoken")
    assert asked.context.count.counter == "tiktoken"


def test_whether_it_is_needed_is_decided_by_the_window_that_is_given(asked: Asked) -> None:
    transcript = talk()
    api.condense(transcript, preset="speed", if_needed=True, context_window=1_000_000)
    assert asked.sizing.only_if_needed is True
    assert asked.sizing.window().tokens == 1_000_000
    assert asked.sizing.beside()[0] == 0
    assert not api.condense(transcript, preset="speed", if_needed=True, context_window=1_000_000).changes
    assert api.condense(transcript, preset="speed", if_needed=True, context_window=500).changes
    sizing = asked.sizing
    with pytest.raises(UsageError):
        api.condense(transcript, preset="speed", if_needed=True)
    api.condense(transcript, preset="speed", sizing=sizing)
    assert asked.sizing is sizing


def test_lossless_only_leaves_the_passes_out(asked: Asked) -> None:
    api.condense(talk(), preset="speed", overrides=overrides_from(lossless_only=True))
    assert asked.configuration.passes == ()


def test_what_only_a_client_shows_goes_where_that_is_asked_for() -> None:
    shown = {"originalFile": LONG}
    call, result = read_turn("t", content="short")
    transcript = session(
        claude_line("user", "a", None, "Go."),
        claude_line("assistant", "b", "a", call["content"], reply="m1"),
        claude_line("user", "c", "b", result["content"], toolUseResult=shown),
        claude_line("assistant", "d", "c", [{"type": "text", "text": "Done."}], reply="m2"),
    )
    plain, slim = api.condense(transcript, {}), api.condense(transcript, {}, slim=True)
    assert len(api.dump(slim)) < len(api.dump(plain)) == len(transcript.source.data)
    waiting = api.condense(transcript, {}, slim=True, if_needed=True, context_window=1_000_000)
    assert api.dump(waiting) == transcript.source.data


def test_a_result_is_proven_unless_that_is_not_wanted() -> None:
    assert api.condense(talk(), preset="speed").proof is not None
    assert api.condense(talk(), preset="speed", proves=False).proof is None


ENDLESS: dict[str, Any] = {}
ENDLESS["passes"] = ENDLESS


@pytest.mark.parametrize("given", [ENDLESS, {"passes": {"a"}}, {"passes": [object()]}], ids=["itself", "set", "object"])
def test_a_configuration_that_is_no_json_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        api.condense(talk(), given)
    assert caught.value.message.startswith("The configuration is not JSON (")
    assert caught.value.hint == "Give dicts, lists, strings and numbers."


def test_a_configuration_beside_a_preset_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        api.condense(talk(), {}, preset="speed")
    assert caught.value.message == "A configuration and the preset speed cannot be used together."
    assert caught.value.hint == "Give one of them; a configuration can name the preset that it builds on: preset."


@pytest.mark.usefixtures("anywhere")
def test_a_restoration_counts_what_it_found() -> None:
    twice = [user("a"), *read_turn("1"), *read_turn("2"), assistant("z")]
    condensed = api.condense(anthropic(*twice), preset="lossless").transcript
    found = api.restore(condensed)
    assert (found.before, found.resolved, found.unresolved, found.gaps, found.elsewhere) == (condensed, 1, 0, 0, 0)
    assert api.dump_messages(found) == twice
    torn = api.loads(api.dump(condensed).replace(b"value of item 7 ", b"other of item 7 "))
    assert (api.restore(torn).resolved, api.restore(torn).unresolved) == (0, 1)
    assert api.restore(anthropic(user("[condense: 3 lines left out #0a1b2c3d]"))).gaps == 1


# A branch that the conversation left: nobody reads it, and what refers there is told.
def test_references_in_other_branches_are_counted() -> None:
    line = "[see lines 3-75 of the next Read of src/app.py #520917]"
    transcript = session(
        claude_line("user", "a", None, "Go."),
        claude_line("user", "b", "a", f"{line}\n{line}"),
        claude_line("user", "c", "a", "Go on."),
        claude_line("assistant", "d", "c", [{"type": "text", "text": "Done."}], reply="m"),
    )
    assert api.restore(transcript).elsewhere == 2


def test_what_holds_no_conversation_is_not_converted() -> None:
    empty = session(
        {"type": "summary", "summary": "a title", "leafUuid": "x"}, {"type": "system", "uuid": "y", "parentUuid": None}
    )
    assert not empty.messages
    with pytest.raises(UsageError) as caught:
        api.convert(empty, "anthropic")
    assert caught.value.message == "There is no conversation to convert."
    assert caught.value.hint == "Name a transcript that holds messages."


def test_a_file_of_lines_gives_no_list() -> None:
    with pytest.raises(UsageError) as caught:
        api.dump_messages(api.loads(LINES))
    assert caught.value.message == "The input was not a list of messages."
    assert caught.value.hint == "Use the bytes of dump()."


def test_a_difference_is_counted_as_it_is_asked_for() -> None:
    before = talk()
    after = api.condense(before, preset="speed").transcript
    plain, twice = (api.diff(before, after, factor=factor) for factor in (None, TWICE))
    assert twice.tokens_before == 2 * plain.tokens_before
    assert api.diff(before, after, Counter()) == plain
    assert api.diff(before, after, "tiktoken").counter == "tiktoken"


def test_estimates_are_of_the_presets_and_the_model_that_are_named() -> None:
    found = estimating.estimate(talk(), presets=["speed", "lossless"], model="claude-opus-4-5", overhead_tokens=123)
    assert sorted(each.preset for each in found.presets) == ["lossless", "speed"]
    assert found.model == "claude-opus-4-5"
    assert found.before.overhead == 123
    assert len(estimating.estimate(talk(1)).presets) > 4
