"""Coverage-guided fuzzing with our own vocabulary: the bytes choose words of ours, and where others wrote them.

`readers.py` damages files; here every input is a sound conversation, in which marks, references, summaries, escapes
and ledgers stand where nobody of us put them. Whatever they say, a run ends, its own output changes no more, what the
prelude did is undone word for word, and rules of the user stay.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import atheris

with atheris.instrument_imports(include=["condense_cli"]):
    from condense_cli import api
    from condense_cli.config.loading import parse_configuration
    from condense_cli.core.markers import GO_ON, SummaryMark, content_hash, short_hash, with_escape
    from condense_cli.core.transcript import Transcript
    from condense_cli.formats import parse
    from condense_cli.lossless.decode import decode

_PRELUDE: Final = '{"lossless_prelude": {"keep": "%s", "tool_parameters": true}}'
_LOSSY: Final = (
    '{"keep_first": 0, "passes": [{"id": "cut", "selection": {"type": "preserve_recent", "keep_recent_count": 1}, '
    '"individual_config": {"defaults": {"tool_results": {"operation": "truncate", '
    '"params": {"truncate": {"max_lines": 4}}}}}}, {"id": "sum", "selection": {"type": "preserve_recent", '
    '"keep_recent_count": 3}, "mode": "batch", "batch_config": {"operation": "summarize", '
    '"summarization_config": {"keep_first": 0, "keep_last": 0}}}]}'
)
RUNS: Final = [parse_configuration(text) for text in (_PRELUDE % "latest", _PRELUDE % "earliest", _LOSSY)]
RULE: Final = "Never push to main."
LINES: Final = [f"    value_{n} = compute({n}, {n * n})" for n in range(12)]
TEXTS: Final = ["\n".join(LINES), "\n".join(LINES[:6]), "\n".join(LINES[6:]), "Go.", RULE, "x"]
HASHES: Final = [*map(content_hash, TEXTS), "deadbeef"]
SHORT: Final = [*map(short_hash, TEXTS), "123456"]
NUMBERS: Final = [1, 2, 6, 12, 9_999_999_999, 999_999_999_999_999]
_SEEDS: Final = 30
_LONGEST: Final = 300
"""Bytes that a long conversation chooses by."""


class Bytes:
    """Choices made by the bytes of an input; the first of all where there are none left."""

    def __init__(self, data: bytes) -> None:
        self._rest = iter(data)

    def number(self, below: int) -> int:
        return next(self._rest, 0) % below

    def of(self, values: Sequence[Any]) -> Any:
        return values[self.number(len(values))]


def words(choice: Bytes) -> str:
    """Something of ours."""
    kind = choice.number(8)
    if kind == 0:
        mark = SummaryMark(choice.number(5) + 1, choice.number(9), choice.of(HASHES), choice.of(["", *SHORT]))
        said = f"{mark}\n{choice.of(TEXTS)}{choice.of(['', chr(10) + '<ledger>' + chr(10) + '</ledger>'])}"
    elif kind == 1:
        amount = f"{choice.of(NUMBERS)} {choice.of(['lines', 'characters'])}"
        said = choice.of([f"[… {amount} #{choice.of(SHORT)}]", f"[condense: {amount} left out #{choice.of(HASHES)}]"])
    elif kind == 2:
        said = f"[see lines 1-{choice.of([6, 12])} above #{choice.of(SHORT)}]"
    elif kind < 6:
        where = choice.of(["", "lines 1-6 of ", "lines 7-12 of ", "new_string of "])
        what = choice.of(["Read of a.py", "Edit of a.py", "Bash `make`", "<environment_details>"])
        address = choice.of([f"the next {what}", f"the previous {what}", f"the 2nd next {what}", "this call"])
        said = f"[see {where}{address} #{choice.of(SHORT)}]"
    else:
        return str(choice.of([GO_ON, *TEXTS, f"<environment_details>\n{TEXTS[0]}\n</environment_details>"]))
    for _ in range(choice.of([0, 0, 0, 1, 2])):
        said = with_escape(said)
    return said


def text(choice: Bytes) -> str:
    return "\n".join(words(choice) for _ in range(choice.of([1, 1, 2, 3])))


def conversation(data: bytes) -> list[dict[str, Any]]:
    """Messages as the Messages API takes them; a rule of the user stands among them."""
    choice = Bytes(data)
    messages: list[dict[str, Any]] = [{"role": "user", "content": choice.of(["Go.", text(choice)])}]
    for number in range(2 + choice.number(5)):
        tool, path = choice.of([("Read", "a.py"), ("Edit", "a.py"), ("Bash", "")])
        given = {"file_path": path, "new_string": text(choice)} if path else {"command": "make"}
        call = {"type": "tool_use", "id": f"c{number}", "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text(choice)}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        if choice.number(3) == 0:
            typed = [{"type": "text", "text": choice.of([text(choice), f"{text(choice)}\n{RULE}"])}]
            messages += [{"role": "assistant", "content": text(choice)}, {"role": "user", "content": typed}]
    return [*messages, {"role": "assistant", "content": "Done."}]


def one_input(data: bytes) -> None:
    transcript = api.loads(conversation(data), format="anthropic")
    for run in RUNS:
        condensation = api.condense(transcript, run)
        assert condensation.error is None, condensation.error
        written = api.dump(condensation)
        again = parse(written, format="anthropic")
        assert api.dump(api.condense(again, run)) == written, "a second run changes it"
        if not run.passes:
            assert restored(again) == restored(transcript), "it is not restored"
        rules = sum(RULE in said for said in typed(transcript))
        kept = sum(said.count(RULE) for said in plain(again))
        assert kept or not rules, "a rule of the user is gone"


def restored(transcript: Transcript) -> bytes:
    return api.dump(api.restore(transcript))


def plain(transcript: Transcript) -> list[str]:
    return [block.text for message in decode(transcript.messages).messages for block in message.blocks]


def typed(transcript: Transcript) -> list[str]:
    """What the user typed, as the reader has it."""
    return [
        block.text
        for message in transcript.messages
        for block in message.blocks
        if message.role == "user" and block.kind == "text" and not (block.injected or block.summarizes)
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(_SEEDS):
            (Path(folder) / str(number)).write_bytes(Random(number).randbytes(_LONGEST))
        limits = [f"-max_len={_LONGEST}", "-len_control=0", "-timeout=20", "-rss_limit_mb=4096"]
        atheris.Setup([sys.argv[0], folder, *limits, *sys.argv[1:]], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
