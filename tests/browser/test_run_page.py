"""The page of a run, as a person uses it: nothing runs in it but its own script, and every link leads somewhere."""

import http.server
import json
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from helpers import CUT, condense, session
from real import SAMPLES

from .window import NARROW, Window

pytestmark = pytest.mark.integration

HOSTILE: Final = (
    "</script><script>alert('script')</script><!--<script> {{data}} <img src=x onerror=alert('image')> "
    "<a href=\"javascript:alert('link')\">link</a> javascript:alert('text') \u202etxt.exe\u2066 \x00\x1b[31m "
    f"\ud800 https://example.invalid/x.png ]]> {'w' * 3_000}"
)
SAME: Final = "".join(f"the same line, {line}, in two results of one session\n" for line in range(60))


def written(folder: Path, results: list[str], preset: str, request: str = "Please look around.") -> Path:
    """The page of a run on a session with these results."""
    records = session(results)
    records[0]["content"] = request
    file = folder / "session.json"
    file.write_text(json.dumps(records))
    done = condense(
        "run", file, "-p", preset, "-n", "-q", "--no-config", "--html", folder / "page.html", "-m", "claude-opus-4-5"
    )
    assert done.status == 0, done.stderr
    return folder / "page.html"


@pytest.fixture(scope="module")
def cut_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("cut"), [*CUT, "short", "end"], "speed")


@pytest.fixture(scope="module")
def linked_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    first = "".join(f"before {line}\n" for line in range(100)) + SAME + "behind"
    return written(tmp_path_factory.mktemp("linked"), [first, "nothing", SAME, "end"], "lossless")


def test_nothing_of_a_hostile_transcript_runs_or_is_asked_for(window: Window, tmp_path: Path) -> None:
    window.open(written(tmp_path, [f"{HOSTILE}\n{each}" for each in (*CUT, "short")], "speed", HOSTILE))
    window.page.get_by_role("button", name="Open all changes").click()
    shown = window.page.locator("#m2-0 .text").inner_text()
    assert "</script><script>alert('script')</script>" in shown
    assert "\u202e" not in shown
    assert window.ask("document.querySelectorAll('img, iframe, [onerror]').length") == 0
    links = window.ask("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)


def test_the_policy_stops_what_would_get_in(cut_page: Path, browser: Any) -> None:
    window = Window(browser)
    window.open(cut_page)
    window.ask("""() => {
        const script = document.createElement('script');
        try { script.append('window.ran = true'); document.body.append(script); } catch (error) {}
        const image = document.createElement('img');
        image.src = 'https://example.invalid/x.png';
        document.body.append(image);
        try { document.body.innerHTML = '<b>markup</b>'; } catch (error) { window.refused = true; }
    }""")
    assert window.ask("[window.ran, window.refused]") == [None, True]
    assert window.refused == window.requests == ["https://example.invalid/x.png"]
    assert window.faults, "and says so"
    window.close()


def test_a_server_is_asked_for_the_page_and_nothing_else(window: Window, cut_page: Path) -> None:
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(cut_page.parent))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        window.page.goto(f"http://127.0.0.1:{server.server_port}/page.html")
        window.page.get_by_role("heading", level=1).wait_for()
        window.requests.remove(window.page.url)
        server.shutdown()
    assert asked == ["/page.html"]


def test_a_cut_opens_with_what_was_there_and_why_it_went(window: Window, cut_page: Path) -> None:
    window.open(cut_page)
    block = window.block("m2-0")
    assert block.locator(".text").count() == 0, "texts are made when they are asked for"
    block.locator("summary").focus()
    window.page.keyboard.press("Enter")
    assert "1: line 30 of the listing" in block.locator("del").inner_text()
    assert "lines #" in block.locator("ins").inner_text()
    assert "old tool result: " in block.locator(".why").inner_text()


def test_a_reference_leads_to_its_lines_and_back_leads_back(window: Window, linked_page: Path) -> None:
    window.open(linked_page)
    window.page.get_by_role("button", name="Open all changes").click()
    link = window.page.locator("ins a")
    target = link.get_attribute("href")
    link.click()
    assert target
    lines = window.block(target[1:]).locator(".target")
    assert lines.inner_text().startswith("the same line, 0,")
    assert lines.evaluate("element => { const box = element.getBoundingClientRect();"
                          " return box.bottom > 0 && box.top < innerHeight }")  # fmt: skip
    assert window.ask("location.hash") == target
    window.block("m1").locator("h3 a").click()
    assert window.ask("document.activeElement.closest('article').id") == "m1"
    window.page.go_back()
    window.page.wait_for_function(f"document.activeElement.closest('details')?.id === '{target[1:]}'")


def test_an_address_with_a_block_opens_it(window: Window, cut_page: Path) -> None:
    window.open(cut_page)
    window.ask("location.hash = '#m4-0'")
    window.block("m4-0").locator("del").wait_for()


def test_unchanged_lines_are_folded_until_somebody_asks(window: Window, linked_page: Path) -> None:
    window.open(linked_page)
    block = window.page.locator("details.reference")
    block.locator("summary").click()
    assert "before 50" not in block.inner_text()
    block.get_by_role("button", name="unchanged lines").click()
    assert "before 50" in block.inner_text()


def test_search_shows_and_marks_what_it_finds(window: Window, cut_page: Path) -> None:
    window.open(cut_page)
    window.page.get_by_label("Search").fill("3: LINE 17 of")
    window.page.get_by_text("1 block of").wait_for()
    assert window.page.locator("article:visible").count() == 1
    window.page.keyboard.press("Enter")
    assert window.page.locator("mark").inner_text() == "3: line 17 of"
    window.page.get_by_role("button", name="Clear").click()
    assert window.page.locator("article:visible").count() == window.page.locator("article").count()
    assert window.page.locator("mark").count() == 0


@pytest.mark.parametrize(
    ("label", "choice", "least"), [("Show", "truncated (6)", 6), ("Tool", "Read", 16), ("Reason", "truncated: ", 6)]
)
def test_filters_leave_what_they_name(label: str, choice: str, least: int, window: Window, cut_page: Path) -> None:
    window.open(cut_page)
    control = window.page.get_by_role("combobox", name=label)
    name = next(each for each in control.locator("option").all_text_contents() if each.startswith(choice))
    control.select_option(label=name)
    assert window.page.locator("details.block:visible").count() == least
    assert window.page.locator(".search output").inner_text().startswith(f"{least} blocks of ")


def test_the_strip_is_walked_by_keys(window: Window, cut_page: Path) -> None:
    window.open(cut_page)
    slider = window.page.get_by_role("slider")
    slider.focus()
    for key in ("ArrowRight", "ArrowRight"):
        window.page.keyboard.press(key)
    assert (slider.get_attribute("aria-valuetext") or "").startswith("#2 · user · Read · ")
    window.page.keyboard.press("Enter")
    assert window.ask("document.activeElement.closest('article').id") == "m2"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_small_screen_shows_all_of_it_in_either_colour(scheme: Any, browser: Any, tmp_path: Path) -> None:
    window = Window(browser, NARROW, scheme)
    window.open(written(tmp_path, [f"{HOSTILE}\n{each}" for each in (*CUT, "short")], "speed", HOSTILE))
    window.page.get_by_role("button", name="Open all changes").click()
    assert window.ask("document.documentElement.scrollWidth") == NARROW
    (red, *_) = window.ask("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red < 64) == (scheme == "dark")
    assert window.faults == []
    window.close()


CONTRAST: Final = """() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
        const [r, g, b] = parts(colour).map(v => linear(v / 255));
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const behind = (element) => {
        const colour = getComputedStyle(element).backgroundColor;
        return parts(colour)[3] === 0 && element.parentElement ? behind(element.parentElement) : colour;
    };
    const poor = [];
    for (const element of document.querySelectorAll('body *')) {
        const says = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!says || !element.checkVisibility()) continue;
        const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
        const ratio = (a + .05) / (b + .05);
        if (ratio < 4.5) poor.push(`${element.className} ${element.textContent.slice(0, 20)} ${ratio.toFixed(2)}`);
    }
    return [...new Set(poor)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("preset", ["speed", "max", "lossless"])
def test_all_text_has_contrast(preset: str, scheme: Any, browser: Any, tmp_path: Path) -> None:
    window = Window(browser, scheme=scheme)
    window.open(written(tmp_path, [*CUT, SAME, "between", f"{SAME}end", "short"], preset))
    window.page.get_by_role("button", name="Open all changes").click()
    window.page.get_by_label("Search").fill("line")
    window.page.locator("mark").first.wait_for()
    assert window.ask(CONTRAST) == []
    window.close()


def test_every_control_has_a_name_and_headings_descend(window: Window, cut_page: Path) -> None:
    window.open(cut_page)
    nameless = window.ask("""[...document.querySelectorAll('button, input, select, summary, a')]
        .filter(each => !(each.textContent.trim() || each.labels?.length)).map(each => each.outerHTML)""")
    assert nameless == []
    levels = window.ask("[...document.querySelectorAll('h1, h2, h3')].map(each => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = window.ask("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


def test_print_leaves_the_controls_out(window: Window, cut_page: Path) -> None:
    window.open(cut_page)
    window.page.emulate_media(media="print")
    assert not window.page.get_by_label("Search").is_visible()
    assert window.page.get_by_role("heading", level=1).is_visible()
    assert window.page.pdf().startswith(b"%PDF")


def test_a_long_session_makes_no_text_before_it_is_asked_for(window: Window, tmp_path: Path) -> None:
    texts = [f"{number}: " + "some words of a result, and more of them.\n" * 500 for number in range(40)]
    page = written(tmp_path, texts, "speed")
    window.open(page)
    assert window.ask("document.querySelector('main').textContent.length") < page.stat().st_size / 20


def test_a_session_without_messages_has_a_page(window: Window, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"messages": []}')
    done = condense("run", "empty.json", "-n", "-q", "--html", "page.html", "--format", "anthropic", cwd=tmp_path)
    assert done.status == 0, done.stderr
    window.open(tmp_path / "page.html")
    assert window.page.locator(".search output").inner_text() == "0 messages"


def test_lines_that_were_picked_say_why(window: Window, tmp_path: Path) -> None:
    done = condense("run", SAMPLES[0], "-p", "balanced", "-n", "-q", "--no-config", "--html", tmp_path / "page.html")
    assert done.status == 0
    window.open(tmp_path / "page.html")
    window.page.get_by_role("button", name="Open all changes").click()
    assert "gone: nothing later names it" in " ".join(window.page.locator(".text > .by").all_inner_texts())
