"""The comparison with other tools: what they are given, what they give back, and the page that it writes."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from build import anthropic, assistant, call, conversation, read_turn, result, text, thinking, user
from real import PROJECT, SAMPLES

sys.path.insert(0, str(PROJECT / "benchmarks" / "quality"))

import compare
import measure_tables
import peers
import recorded
import shapes

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.quality.evaluation import Cut, Evaluated, Point
from condense_cli.quality.recall import Recall, Score, texts_in

TWO_PARTS = [{"type": "text", "text": "first part"}, {"type": "text", "text": "second part"}]


def parallel() -> Transcript:
    """Thinking, a text and two calls in one message; a result of two parts and a failed one in the next."""
    calls = [thinking(), text("Let me see."), call("a", file_path="a.py"), call("b", file_path="b.py", limit=3)]
    results = [result("a", TWO_PARTS), result("b", "not found", is_error=True)]
    return anthropic(user("Look."), assistant(calls), user(results), assistant("Well."))


def test_messages_are_shown_as_the_api_spells_them() -> None:
    shown = shapes.message_list(parallel().messages).messages
    assert [message["role"] for message in shown] == ["user", "assistant", "user", "assistant"]
    said, first, second = shown[1]["content"]
    assert said == {"type": "text", "text": "Let me see."}
    assert first == {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "a.py"}}
    assert second["input"] == {"file_path": "b.py", "limit": 3}
    assert shown[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "first part\nsecond part"},
        {"type": "tool_result", "tool_use_id": "b", "content": "not found", "is_error": True},
    ]


# Calls inside a text have no arguments to show, nor have the items of a rollout.
SHOWN = [path for path in SAMPLES if path.suffix != ".traj" and "rollout" not in path.name]


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_what_a_peer_leaves_alone_comes_back_as_it_was(path: Path) -> None:
    before = api.load(path).messages
    shown = shapes.message_list(before)
    assert tuple(shapes.messages_from(before, shown, shown.messages)) == before


def test_what_a_peer_changes_takes_the_place_of_the_old() -> None:
    before = parallel().messages
    shown = shapes.message_list(before)
    given: list[dict[str, Any]] = shapes.message_list(before).messages
    given[1]["content"][2]["input"] = {}
    given[2]["content"][0]["content"] = [{"type": "text", "text": "[cleared]"}]
    after = shapes.messages_from(before, shown, given)
    assert [block.text for block in after[1].blocks][1:] == ["Let me see.", '{"file_path":"a.py"}', "{}"]
    assert after[1].blocks[0].kind is BlockKind.THINKING
    assert [block.text for block in after[2].blocks] == ["[cleared]", "not found"]


def test_messages_that_are_gone_are_an_error() -> None:
    before = parallel().messages
    shown = shapes.message_list(before)
    with pytest.raises(shapes.ShapeError, match="4 messages became 3"):
        shapes.messages_from(before, shown, shown.messages[:-1])
    fewer = [dict(message, content=message["content"][:1]) for message in shown.messages]
    with pytest.raises(shapes.ShapeError, match="3 blocks of a message became 1"):
        shapes.messages_from(before, shown, fewer)


def test_a_session_file_holds_what_was_said_before_the_cut() -> None:
    whole = api.load(PROJECT / "sample_transcripts" / "bugfix-session.jsonl")
    before = Transcript(whole.format, whole.family, whole.messages[:21], whole.source)
    data = shapes.session_file(before)
    assert 0 < len(data.splitlines()) < len(whole.source.data.splitlines())
    assert list(texts_in(shapes.messages_of(data, "claude-code"))) == list(texts_in(before.messages))


# A peer that is asked over the protocol of the workers, without an environment of its own.
@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    script = tmp_path / "fake_worker.py"
    script.write_text(
        f"import os, sys, time\nsys.path.insert(0, {str(PROJECT / 'benchmarks' / 'quality' / 'workers')!r})\n"
        "from serving import serve\n"
        "def work(given, setting):\n"
        "    print('noise')\n"
        "    if setting.get('asks'): input('Are you sure?')\n"
        "    if setting.get('ends'): os._exit(3)\n"
        "    end = time.process_time() + setting.get('burns', 0)\n"
        "    while time.process_time() < end: pass\n"
        "    return [given, setting]\n"
        "serve(work)\n"
    )
    monkeypatch.setattr(peers, "python_of", lambda peer, cache: Path(sys.executable))
    monkeypatch.setattr(peers, "_without_network", list)
    peer = peers.Peer("fake", "fake", str(script), "messages", {})
    found = peers.Worker(peer, tmp_path, tmp_path)
    yield found
    found.close()


def test_a_worker_answers_whatever_its_peer_prints_or_asks(worker: Any) -> None:
    assert worker.ask(["é"], {"keep": 3})[0] == [["é"], {"keep": 3}]
    with pytest.raises(peers.PeerError, match="EOFError"):
        worker.ask([], {"asks": True})
    assert worker.ask([], {})[0] == [[], {}]


def test_a_worker_says_how_much_of_the_processor_it_took(worker: Any) -> None:
    assert worker.ask([], {"burns": 0.02})[1] >= 0.02


def test_a_worker_that_ended_is_an_error(worker: Any) -> None:
    with pytest.raises(peers.PeerError, match="ended"):
        worker.ask([], {"ends": True})


def _transcripts(folder: Path) -> Path:
    """Two sessions in which much is asked."""
    turns = [turn for number in range(40) for turn in read_turn(f"t{number}", f"f{number}", f"value_{number}\n" * 100)]
    for name, request in (("a", "Look."), ("b", "Look there.")):
        later = [message for number in range(40) for message in (assistant(f"value_{number}"), user("Next."))]
        source = anthropic(user(request), *turns, *later, *conversation()[1:]).source
        (folder / f"{name}.json").write_bytes(source.data)
    return folder


@pytest.mark.slow
def test_the_comparison_runs_without_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--presets", "balanced", "--measures", "facts", "bits", "--jobs", "1", "--cache", str(tmp_path / "cache")]
    compare.main(["--group", "made up", str(_transcripts(tmp_path)), *few, "--peers"])
    printed = capsys.readouterr().out
    assert "on 2 sessions of 1 project." in printed
    assert "First those where every way was measured:" in printed
    assert re.search(r"^\| balanced \| [\d.]+ / [\d.]+ \|(?: [^|]+ \|){2}$", printed, re.MULTILINE)
    assert "| drop the oldest |" in printed
    assert "kind of client" not in printed


def test_a_cut_counts_only_where_half_of_a_size_is_enough_for_what_stays() -> None:
    def cut(share: int, *crowded: float) -> Cut:
        recall = Recall(Score(100, share), Score(0, 0), Score(0, 0))
        points = (Point("balanced", f"to {size:g}", size, 50, size, recall, 0.0) for size in measure_tables.SIZES)
        return Cut(0.6, 10, 100, 100, 0, 0, tuple(points), crowded)

    found = Evaluated("a.jsonl", "anthropic", 1000, (cut(90), cut(10, 0.3), cut(20, 0.5, 0.3)))
    table = measure_tables.tables({"made up": {"project": [found]}}, ["facts"])
    assert "| balanced | 50 / 30 | **50** / **90** |" in table
    assert "| cuts with needs | | 2 / 1 |" in table


def test_the_page_keeps_its_words_around_the_tables(tmp_path: Path) -> None:
    page, old = tmp_path / "page.md", compare.PAGE.read_text()
    page.write_text(old)
    recorded.replace_between(page, compare.BEGIN, compare.END, "TABLES")
    new = page.read_text()
    assert new.count(compare.BEGIN) == new.count(compare.END) == 1
    assert "TABLES" in new
    assert new.partition(compare.BEGIN)[0] == old.partition(compare.BEGIN)[0]
    tables = old.partition(compare.BEGIN)[2].partition(compare.END)[0]
    recorded.replace_between(page, compare.BEGIN, compare.END, tables[2:])
    assert page.read_text() == old


def test_every_setting_of_a_peer_is_named_once_and_its_worker_is_there() -> None:
    assert len({peer.name for peer in peers.PEERS}) == len(peers.PEERS)
    for peer in peers.PEERS:
        assert (peers.HERE / "workers" / peer.worker).is_file()
        assert peer.settings
