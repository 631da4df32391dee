"""Make the pictures of the README: what the commands show for a sample transcript, as SVG.

python docs/make_pictures.py
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text
from terminal_svg import for_any_viewer, for_light_and_dark

from condense_cli import api
from condense_cli.cli.running.ran import proposal
from condense_cli.config.loading import load_preset
from condense_cli.config.preset_folders import DEFAULT_PRESET
from condense_cli.quality.losses import losses
from condense_cli.report.costs import PriceSource, cost_of
from condense_cli.report.run import facts, terminal
from condense_cli.report.run.expected import expected_by_name
from condense_cli.report.terminal import render
from condense_cli.tokens.counting import Counter, encoding_for
from condense_cli.window.use import overhead_of

FOLDER = Path(__file__).resolve().parent
SAMPLE = FOLDER.parent / "sample_transcripts" / "bugfix-session.jsonl"
WIDTH = 92


def picture(parts: list[RenderableType], title: str, path: Path) -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False, markup=False)
    for part in parts:
        console.print(part)
    svg = console.export_svg(title=title, unique_id="condense")
    path.write_text(for_light_and_dark(for_any_viewer(svg)))


def main() -> None:
    transcript = api.load(SAMPLE)
    encoding = encoding_for(transcript.model)
    count = Counter(encoding.name)
    result = api.condense(transcript, load_preset(DEFAULT_PRESET), counter=count)
    overhead, _ = overhead_of(transcript, count, result.factor, None)
    prices = PriceSource.of(transcript.model, datetime.now(UTC))
    report = facts.build(
        result,
        facts.RunFiles(SAMPLE.name, len(api.dump(result))),
        count=count,
        encoding=encoding,
        configuration=DEFAULT_PRESET,
        explain=False,
        cost=cost_of(result, count, overhead, prices),
        expected=expected_by_name([("", result, ())], count).get(""),
        lost=facts.LostReport.of(losses(transcript.messages, result.transcript.messages, count)),
    )
    prompt = Text.assemble(("$ ", "green"), (f"condense run {SAMPLE.name}", "bold"))
    next_step = Text(proposal(SAMPLE.name, report.format, is_writable=True, is_more=True), style="dim")
    parts = [prompt, *render(terminal.render_run(result, report, count, WIDTH), WIDTH), next_step]
    picture(parts, f"condense run {SAMPLE.name}", FOLDER / "run.svg")


if __name__ == "__main__":
    main()
