"""Images that a configuration leaves out: a text with a marker replaces the whole block."""

import json
from typing import Any

import build
import laws
import pytest
from msgspec.structs import replace
from pictures import picture

from condense_cli import api
from condense_cli.core.markers import Gap, gaps_in, parse_gap, short_hash
from condense_cli.core.values import BlockKind, ContentType
from condense_cli.errors import ConfigurationError
from condense_cli.passes.blocks import cutting
from condense_cli.passes.receipts import Kept
from condense_cli.report.difference import What

DATA = picture(800, 600)
MARKER = f"[… image #{short_hash(DATA)}]"
SUPPRESS: dict[str, Any] = {
    "id": "images",
    "selection": {"type": "preserve_recent", "keep_recent_count": 1},
    "individual_config": {"defaults": {"images": {"operation": "suppress"}}},
}


def image(data: str = DATA, **extra: Any) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}, **extra}


def link(data: str = DATA) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def with_images(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    request = [build.user("Why does it look wrong?"), build.assistant("Show me.")]
    return [*request, build.user([*blocks, build.text("this way")]), build.assistant("I see.")]


def test_images_stay_unless_the_configuration_says_otherwise() -> None:
    transcript = build.anthropic(*with_images(image()))
    result = build.condense(transcript, {**SUPPRESS, "individual_config": {"defaults": {}}})
    assert not result.transcript.is_changed


def test_a_text_takes_the_place_of_an_image() -> None:
    messages = with_images(image(), image(picture(640, 480)))
    result = build.condense(build.anthropic(*messages), SUPPRESS)
    first, second, words = build.written(result)[2]["content"]
    assert first == {"type": "text", "text": MARKER}
    assert second == {"type": "text", "text": f"[… image #{short_hash(picture(640, 480))}]"}
    assert words == build.text("this way")
    laws.check_all(result.before, build.configuration(SUPPRESS))


def test_a_link_becomes_a_text_part_with_the_hash_that_the_data_has_everywhere() -> None:
    result = build.condense(build.openai(*with_images(link())), SUPPRESS)
    assert build.written(result)[2]["content"][0] == {"type": "text", "text": MARKER}
    laws.check_all(result.before, build.configuration(SUPPRESS))


@pytest.mark.parametrize(
    "source", [{"type": "url", "url": "https://example.com/a.png"}, {"type": "file", "file_id": "f"}]
)
def test_images_that_stand_elsewhere_are_told_apart_by_what_names_them(source: dict[str, Any]) -> None:
    other = {**source, "type": "other"}
    blocks = [{"type": "image", "source": each} for each in (source, source, other)]
    result = build.condense(build.anthropic(*with_images(*blocks)), SUPPRESS)
    markers = [part["text"] for part in build.written(result)[2]["content"][:3]]
    assert all(parse_gap(marker) for marker in markers)
    assert markers[0] == markers[1] != markers[2]


def test_an_image_inside_a_result_becomes_a_text_of_that_result() -> None:
    turn = build.read_turn("toolu_1", "a.png", [build.text("a picture"), image()], is_error=True)
    transcript = build.anthropic(build.user("Look."), *turn, build.assistant("Nice."))
    result = build.condense(transcript, SUPPRESS)
    assert build.written(result)[2]["content"] == [
        build.result("toolu_1", [build.text("a picture"), {"type": "text", "text": MARKER}], is_error=True)
    ]
    changed = [block for _, block in result.transcript.blocks() if block.changed]
    assert [(block.kind, block.answers, block.estimate) for block in changed] == [(BlockKind.TOOL_RESULT, "toolu_1", 0)]
    laws.check_all(transcript, build.configuration(SUPPRESS))


# A tool message without an id is still a result, so the text in place of its image is one too.
def test_an_image_in_a_tool_message_without_an_id() -> None:
    messages = [build.user("Look."), {"role": "tool", "content": [link()]}, build.assistant("Nice."), build.user("ok")]
    result = build.condense(build.openai(*messages), SUPPRESS)
    assert build.written(result)[1]["content"] == [{"type": "text", "text": MARKER}]


def test_a_cache_breakpoint_moves_to_the_text() -> None:
    cached = image(cache_control={"type": "ephemeral"})
    result = build.condense(build.anthropic(*with_images(cached)), SUPPRESS)
    block = build.written(result)[2]["content"][0]
    assert block == {"type": "text", "text": MARKER, "cache_control": {"type": "ephemeral"}}


def test_around_the_image_no_byte_changes() -> None:
    raw = json.dumps(with_images(image()), indent=3).replace('"this way"', '"this \\u0077ay"').encode()
    data = api.dump(api.condense(api.loads(raw, format="anthropic"), build.configuration(SUPPRESS)))
    start = raw.index(b'{\n            "type": "image"')
    assert data.startswith(raw[:start])
    assert data[start:].startswith(f'{{"type":"text","text":"{MARKER}"}}'.encode())
    assert data.endswith(raw[raw.index(b',\n         {\n            "type": "text"') :])


def test_the_saving_is_the_estimate_less_the_marker() -> None:
    transcript = build.anthropic(*with_images(image()))
    receipt = build.condense(transcript, SUPPRESS).changes[0]
    assert (receipt.operation, receipt.content_type, receipt.kind) == ("suppress", ContentType.IMAGES, BlockKind.IMAGE)
    assert receipt.tokens_before == 640
    assert 5 < receipt.tokens_after < 20


@pytest.mark.parametrize(
    ("data", "minimum", "why"),
    [(picture(50, 50), 0, Kept.NOT_SMALLER), (DATA, 641, Kept.SMALL), (DATA, 640, None)],
)
def test_small_images_stay(data: str, minimum: int, why: Kept | None) -> None:
    operation = {"operation": "suppress", "min_tokens": minimum}
    config = {**SUPPRESS, "individual_config": {"defaults": {"images": operation}}}
    result = build.condense(build.anthropic(*with_images(image(data))), config)
    kept = [receipt.kept for receipt in result.receipts if receipt.content_type is ContentType.IMAGES]
    assert kept == [why]


def test_an_override_names_the_images_of_one_message() -> None:
    overrides = [{"message_index": 2, "operations": {"images": {"operation": "suppress"}}}]
    config = {**SUPPRESS, "individual_config": {"overrides": overrides}}
    messages = [*with_images(image())[:-1], build.assistant("And?"), *with_images(image())[2:]]
    result = build.condense(build.anthropic(*messages), config)
    assert [receipt.message for receipt in result.changes] == [2]


def test_images_are_kept_or_suppressed_and_nothing_else() -> None:
    with pytest.raises(ConfigurationError, match=r"'truncate' is not one of keep, suppress.*images"):
        build.configuration({**SUPPRESS, "individual_config": {"defaults": {"images": {"operation": "truncate"}}}})


def session(tool_use_result: Any, *content: dict[str, Any]) -> Any:
    return build.session(
        build.claude_line("user", "1", None, "Look at it."),
        build.claude_line("assistant", "2", "1", [build.call("toolu_1", "Read", file_path="a.png")], reply="m1"),
        build.claude_line("user", "3", "2", [build.result("toolu_1", list(content))], toolUseResult=tool_use_result),
        build.claude_line("assistant", "4", "3", [build.text("I see.")], reply="m2"),
    )


@pytest.mark.parametrize("copy", [DATA, picture(1600, 1200)])
def test_the_copy_of_an_image_file_goes_too_whatever_its_size(copy: str) -> None:
    shown = {"type": "image", "file": {"base64": copy, "type": "image/png", "originalSize": 7}}
    result = build.condense(session(shown, image()), SUPPRESS)
    record = build.written(result)[2]
    assert record["message"]["content"][0]["content"] == [{"type": "text", "text": MARKER}]
    assert record["toolUseResult"] == {**shown, "file": {**shown["file"], "base64": MARKER}}  # type: ignore[dict-item]
    laws.check_all(result.before, build.configuration(SUPPRESS))


def test_the_copies_of_content_blocks_go_too_and_nothing_else() -> None:
    other = picture(640, 480)
    pinned = {"type": "document", "source": {"type": "base64", "data": other}}
    result = build.condense(session([image(), pinned, build.text("words")], image(), pinned), SUPPRESS)
    shown = build.written(result)[2]["toolUseResult"]
    assert shown == [image(MARKER), pinned, build.text("words")]


def test_an_image_that_the_user_pasted() -> None:
    lines = [
        build.claude_line("user", "1", None, "Look at it."),
        build.claude_line("assistant", "2", "1", [build.text("At what?")], reply="m1"),
        build.claude_line("user", "3", "2", [image(), build.text("at this")], toolUseResult={"type": "image"}),
        build.claude_line("assistant", "4", "3", [build.text("I see.")], reply="m2"),
    ]
    result = build.condense(build.session(*lines), SUPPRESS)
    assert build.written(result)[2]["message"]["content"] == [{"type": "text", "text": MARKER}, build.text("at this")]


def test_no_operation_cuts_the_marker() -> None:
    assert cutting.suppress(MARKER) == MARKER
    limits = cutting.CutLimits(max_lines=1, max_chars=1)
    assert cutting.truncate(MARKER, limits) == MARKER


# Among other lines the marker is quoted by somebody: it is a line, and its hash names nothing of that text.
def test_a_quoted_marker_is_a_line_like_any_other() -> None:
    text = f"they wrote\n{MARKER}\nthere\nand here"
    assert gaps_in(cutting.suppress(text)) == [Gap(short_hash(text), 4)]
    assert cutting.truncate(text, cutting.CutLimits(max_lines=2)).startswith(f"they wrote\n{MARKER}\n[… 2 lines ")


def test_a_diff_pairs_the_marker_with_its_image() -> None:
    result = build.condense(build.anthropic(*with_images(image())), SUPPRESS)
    again = api.loads(api.dump(result), format="anthropic")
    for after in (result.transcript, again):
        (block,) = api.diff(result.before, after).blocks
        assert (block.what, block.kind, block.after) == (What.REMOVED, BlockKind.IMAGE, MARKER)


# An image may be left out while thinking is dropped from the same turn.
def test_images_and_bound_thinking() -> None:
    messages = [*with_images(image())[:-1], build.assistant([build.thinking(), build.text("I see.")]), build.user("ok")]
    transcript = replace(build.anthropic(*messages), model="claude-sonnet-5-5")
    laws.check_all(transcript, build.configuration(SUPPRESS))
