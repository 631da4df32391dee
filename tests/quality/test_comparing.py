"""Ways side by side from Python: every one less the first, and each with who writes its summaries."""

from __future__ import annotations

from collections.abc import Sequence

from looked_up import work

import condense_cli
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Message
from condense_cli.passes.summaries import Outcome, Task, Written
from condense_cli.quality.differences import Verdict


class Asked:
    """Counts what it is asked, and answers in a word."""

    def __init__(self) -> None:
        self.tasks = 0

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        self.tasks += len(tasks)
        return [Written("Nothing.", by="asked") for _ in tasks]


def test_every_way_is_compared_with_the_first_at_the_same_cuts() -> None:
    ways = {name: load_preset(name) for name in ("lossless", "speed", "cost")}
    found = condense_cli.compare([work()], ways, cuts=(0.4, 0.5, 0.6, 0.65, 0.7, 0.8), smallest=0)
    assert {(one.way, one.against) for one in found} == {("speed", "lossless"), ("cost", "lossless")}
    sizes = [one for one in found if one.measure == "size"]
    assert all(one.mean < 0 and one.verdict is Verdict.LESS for one in sizes)


def test_a_way_gets_the_summaries_of_its_own_summarizer() -> None:
    asked = Asked()
    ways = {"offline": load_preset("max"), "a model": load_preset("max")}
    found = condense_cli.compare([work()], ways, summarizers={"a model": asked}, cuts=(0.6,), smallest=0)
    assert asked.tasks == 1
    assert {one.way for one in found} == {"a model"}
