"""Compute the bill of recorded sessions in dollars: everything sent, with other tools, with condense.

    python benchmarks/bill.py
    python benchmarks/bill.py SESSION... --ways "Live, economic" --regime anthropic-1h
    python benchmarks/bill.py --write

The agent of this replay can only use what is in front of it. If an answer of the recording needs a name or a line that
was cut, a file that holds it is read again first: one more request, with its result, which stays in the conversation.
What no file holds is lost. Cache rules and prices are those of `condense_cli/money/bill.py`; output is billed for those
further requests alone, as all others have the same. It is a simulation: a live agent may look elsewhere, or do without.

Without sessions, one of each project beside the checkout, of 40,000 to 200,000 tokens (`live_sessions.sample`).
The weights that choose lines had no part in a session's project (`left_out.py`).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Final, NamedTuple

import figures
import left_out
import msgspec
from live import BESIDE, live
from live_sessions import SECONDS, Needs, Session, sample, session
from platformdirs import user_cache_path
from recorded import DOCS, PROJECT, replace_between

from condense_cli import api
from condense_cli.core.transcript import Block, Message, calls_by_id
from condense_cli.core.values import BlockKind
from condense_cli.errors import CondenseError
from condense_cli.live.conversation import KEEP_RECENT
from condense_cli.live.replaying import ApiMessage, BlockSizes, Way, answers_in, as_marked, untouched
from condense_cli.money.bill import CacheRules, PromptCache, price_at, spent
from condense_cli.quality.recall import Questions, texts_in
from condense_cli.storage.processes import in_order, usable_processors
from condense_cli.toolcalls.tools import path_argument, reads_a_file, writes_a_file

sys.path.insert(0, str(Path(__file__).resolve().parent / "quality"))

from peers import PEERS, PeerError, fresh_home, version_of  # With the folder of the other tools.
from replayed import REREAD, PeerWays
from shapes import ShapeError

BEGIN: Final = "<!-- the bill: written by benchmarks/bill.py --write -->"
END: Final = "<!-- end of the bill -->"
ABOVE: Final = 60_000
"""Tokens from which other tools change anything, and one of our policies."""
EVERYTHING: Final = "everything sent"

OWN: Final = ("economic", "economic:20", "share:0.5", f"tokens:{ABOVE}")
OTHERS: Final = {
    "LangChain, results cleared, 3 stay": ("LangChain, results cleared", "keep 3"),
    "LangChain, calls cleared too, 3 stay": ("LangChain, calls cleared too", "keep 3"),
    "headroom": ("headroom, compress", "as it comes"),
    "cozempic, standard": ("cozempic", "standard"),
    "claude-code-tools, trim": ("claude-code-tools, trim", "500 characters"),
}
"""Other tools: their rows, and the names of tool and setting in `quality/peers.py`."""
ALWAYS: Final = ("headroom",)
"""Those that change every request; the others begin at ABOVE tokens."""
WAYS: Final = (EVERYTHING, *(f"Live, {policy}" for policy in OWN), *OTHERS)
COLUMNS_IN_README: Final = ("median bill", "worst bill", "dollars in all (everything sent)", "needs lost")
IN_README: Final = (f"Live, {OWN[0]}", "LangChain, results cleared, 3 stay", "headroom", "cozempic, standard")


class Result(NamedTuple):
    """The bill of one session in one way, in dollars; needs are counted at each answer."""

    dollars: Decimal = Decimal(0)
    requests: int = 0
    further: int = 0
    needs: int = 0
    lost: int = 0


class Row(NamedTuple):
    """A way on all sessions that it could be applied to, and the same with everything sent."""

    way: str
    results: Sequence[Result]
    whole: Sequence[Result]

    def cells(self) -> dict[str, str]:
        dollars = [sum((each.dollars for each in some), Decimal(0)) for some in (self.results, self.whole)]
        shares = [float(one.dollars / other.dollars) for one, other in zip(self.results, self.whole, strict=True)]
        requests, needs = (sum(each) for each in zip(*((one.requests, one.needs) for one in self.results), strict=True))
        return {
            "sessions": f"{len(self.results)}",
            "median bill": f"{statistics.median(shares):.2f}",
            "worst bill": f"{max(shares):.2f}",
            "dollars in all (everything sent)": f"${dollars[0]:.2f} (${dollars[1]:.2f})",
            "files read again, per 100 requests": f"{100 * sum(each.further for each in self.results) / requests:.1f}",
            "needs lost": f"{100 * sum(each.lost for each in self.results) / max(1, needs):.1f}%",
        }


def missing(questions: Questions, sent: Sequence[ApiMessage]) -> tuple[frozenset[str], frozenset[str]]:
    """Return facts and lines that an answer needed, and that the request did not hold."""
    asked = questions.asked
    if not (asked.facts or asked.lines):
        return frozenset(), frozenset()
    there = questions.standing(api.loads([*sent], format="anthropic").messages)
    return asked.facts - there.facts - there.named, asked.lines - there.lines


def files_with(
    questions: Questions, before: Sequence[Message], wanted: tuple[frozenset[str], frozenset[str]]
) -> Iterator[tuple[str, str]]:
    """Yield paths and texts of files that hold anything of what is wanted, newest first."""
    calls = calls_by_id(before)
    for message in reversed(before):
        for block in reversed(message.blocks):
            call = calls.get(block.call_id or "")
            path = path_argument(call) if call else None
            if call is None or path is None or not _holds(block, call):
                continue
            texts = [*texts_in((Message(message.index, message.role, (block,)),))]
            said = [questions.said(text) for text in texts]
            if any(facts & wanted[0] or lines & wanted[1] for facts, lines in said):
                yield path, "\n".join(texts)


def _holds(block: Block, call: Block) -> bool:
    if block.kind is BlockKind.TOOL_RESULT:
        return reads_a_file(call) and not block.is_error
    return block.kind is BlockKind.TOOL_CALL and writes_a_file(call)


def bill(recorded: Session, way: Way, needs: Needs, *, for_an_hour: bool) -> Result:
    """Send a session's requests; read again what was cut and is needed."""
    sizes, model = BlockSizes(recorded.factor), recorded.model
    cache = PromptCache(CacheRules.of(model, for_an_hour=for_an_hour), BESIDE)
    history: list[ApiMessage] = []
    dollars, further, asked, lost, used, start = Decimal(0), 0, 0, 0, 0, 0
    now = next(iter(recorded.times.values()), 0.0) - SECONDS
    answers = [*answers_in(recorded.messages)]

    def send() -> list[ApiMessage]:
        nonlocal used, dollars
        sent = way(as_marked(history), now, used)
        billed = cache.bill(sizes.pieces(sent), now)
        used = billed.tokens
        price = price_at(model, now, used)
        paid = None if price is None else spent(billed, price)
        assert paid is not None, f"{model} has no price"
        dollars += paid.total
        return sent

    for position in answers:
        history += recorded.messages[start:position]
        start = position
        now = max(now, recorded.times.get(position, now + SECONDS))
        sent = send()
        questions, before = needs.of(position)
        wanted = missing(questions, sent)
        asked += len(questions.asked.facts) + len(questions.asked.lines)
        tried: set[str] = set()
        while (source := next(_untried(files_with(questions, before, wanted), tried), None)) is not None:
            path, text = source
            tried.add(text)
            further += 1
            name = f"{REREAD}{further}"
            call = {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": path}}
            history += [
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": text}]},
            ]
            output = sum(piece.tokens for piece in sizes.pieces(history[-2:-1]))
            price = price_at(model, now, used)
            assert price is not None, f"{model} has no price"
            dollars += output * (price.output or price.input)
            wanted = missing(questions, send())
        lost += len(wanted[0]) + len(wanted[1])
    return Result(dollars, len(answers), further, asked, lost)


def _untried(sources: Iterable[tuple[str, str]], tried: set[str]) -> Iterator[tuple[str, str]]:
    return (source for source in sources if source[1] not in tried)


def billed_ways(names: Sequence[str], cache: Path, path: Path) -> dict[str, Result | str]:
    """Return a session's bill in each way, or why a way could not be applied."""
    recorded, transcript = session(path), api.load(path)
    needs, found = Needs(recorded.messages), dict[str, Result | str]()
    life = CacheRules.of(recorded.model, for_an_hour=transcript.lives_hour).life
    home = fresh_home(cache, "bill")  # Of one tool after the other.
    with left_out.without(path):
        for name in names:
            tool = None
            try:
                if name in OTHERS:
                    peer = next(peer for peer in PEERS if peer.name == OTHERS[name][0])
                    tool = PeerWays(peer, cache, home)
                    way = tool.way(peer.settings[OTHERS[name][1]], 0 if name in ALWAYS else ABOVE, transcript)
                elif name == EVERYTHING:
                    way = untouched
                else:
                    way = live(name.partition(", ")[2], recorded.model, None, KEEP_RECENT, life)
                found[name] = bill(recorded, way, needs, for_an_hour=transcript.lives_hour)
            except (PeerError, ShapeError, CondenseError) as error:
                found[name] = f"{type(error).__name__}: {error}"
            if tool is not None:
                tool.close()
                home = fresh_home(cache, "bill")
    shutil.rmtree(home, ignore_errors=True)
    return found


def rows_of(found: Sequence[dict[str, Result | str]], names: Sequence[str]) -> Iterator[Row]:
    for name in names:
        pairs = [
            (result, whole)
            for each in found
            if isinstance(result := each[name], Result) and isinstance(whole := each[EVERYTHING], Result)
        ]
        if pairs:
            yield Row(name, *zip(*pairs, strict=True))


def table(rows: Sequence[Row], columns: Sequence[str] = ()) -> Iterator[str]:
    columns = columns or [*rows[0].cells()]
    yield f"| | {' | '.join(columns)} |"
    yield f"| --- {'| ---: ' * len(columns)}|"
    for row in rows:
        name = f"condense, `{row.way}`" if row.way.startswith("Live") else row.way
        cells = row.cells()
        yield f"| {name} | {' | '.join(cells[column] for column in columns)} |"


def write(rows: Sequence[Row], paths: Sequence[Path], tools: Sequence[str]) -> None:
    """Write the tables of README and docs, and what they were measured on."""
    number, requests = len(rows[0].results), sum(each.requests for each in rows[0].results)
    on = f"{number} recorded sessions of Claude Code, a project each, {requests:,} requests"
    text = "\n".join(table(rows))
    about = fill(f"Measured on {on}, next to {', '.join(tools)}.", 128)
    replace_between(DOCS / "costs.md", BEGIN, END, f"{about}\n\n{text}")
    short = table([row for row in rows if row.way in IN_README], COLUMNS_IN_README)
    replace_between(PROJECT / "README.md", BEGIN, END, "\n".join(short))
    figures.keep("bill", paths, tools)


def _known(file: Path | None) -> dict[str, dict[str, Result | str]]:
    if file is None or not file.exists():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, Result | str]])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="*", type=Path)
    parser.add_argument("--ways", nargs="*", default=WAYS, metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--sample", type=int, default=10, metavar="N", help="sessions, where none is named")
    parser.add_argument("--jobs", type=int, default=usable_processors(), metavar="N")
    parser.add_argument("--cache", type=Path, default=user_cache_path("condense-benchmarks"), metavar="DIR")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep results there, and go on from them")
    parser.add_argument("--write", action="store_true", help="write the table into README.md and docs/costs.md")
    options = parser.parse_args(arguments)
    names = tuple(dict.fromkeys((EVERYTHING, *options.ways)))
    versions = sorted(
        {f"{peer.package} {version_of(peer, options.cache)}" for peer in PEERS
         if any(peer.name == OTHERS[name][0] for name in names if name in OTHERS)}
    )  # fmt: skip
    paths = options.sessions or sample(options.sample)
    known = _known(options.keep)
    todo = [path for path in paths if figures.digest(path) not in known]
    results = in_order(partial(billed_ways, names, options.cache), todo, options.jobs)
    for path, found in zip(todo, results, strict=True):
        known[figures.digest(path)] = found
        print(figures.digest(path), path.name)
        for way, result in found.items():
            print(f"  {way:40} {result if isinstance(result, str) else ' '.join(map(str, result))}", flush=True)
        if options.keep:
            options.keep.write_bytes(msgspec.json.encode(known))
    rows = [*rows_of([known[figures.digest(path)] for path in paths], names)]
    print(f"\n{', '.join(versions)}\n")
    print("\n".join(table(rows)))
    if options.write:
        write(rows, paths, versions)


if __name__ == "__main__":
    main()
