"""Measure `Live.fit`: with nothing to decide at 1,000 messages, and with a decision. Prints milliseconds.

    python benchmarks/live_speed.py --rounds 20

The messages are synthetic: 660 KB in 1,000 messages, and some 100,000 tokens for the decision.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from synthetic import write_transcript

from condense_cli import Live


def messages_of(megabytes: float) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "messages.jsonl"
        write_transcript(path, megabytes, "anthropic")
        lines = path.read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines if line.strip()]


def thousand() -> list[Any]:
    """A thousand messages of 660 characters."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"{n}: " + "some words and more " * 33} for n in range(1_000)]


def milliseconds(live: Live, messages: list[Any], **more: Any) -> float:
    started = time.process_time()
    live.fit(messages, **more)
    return 1_000 * (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    long = thousand()
    live = Live(policy="tokens:10000000", context_window=10_000_000)
    first = milliseconds(live, long, now=0)
    taken = []
    for number in range(options.rounds):
        long = [*long, {"role": "user", "content": f"and {number}"}]
        taken.append(milliseconds(live, long, now=0))
    print(f"nothing to decide, 1,000 messages: {statistics.median(taken):.1f} ms (the first request: {first:.1f} ms)")
    messages = messages_of(0.42)
    Live(policy="tokens:90000", context_window=10_000_000).fit(messages[:50], now=0)
    decided = []
    for _ in range(max(1, options.rounds // 5)):
        fitting = Live(policy="tokens:90000", context_window=10_000_000)
        fitting.fit(messages, now=0, decide=False)
        decided.append(milliseconds(fitting, messages, now=0))
    fitted = fitting.fit(messages, now=0, decide=False)
    print(f"a decision, {fitted.tokens:,} tokens after: {statistics.median(decided):.0f} ms")


if __name__ == "__main__":
    main()
