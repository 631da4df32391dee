"""Send every recorded conversation through Live, request by request, and check its promises.

    python benchmarks/live_laws.py [FILE...] --api anthropic openai-chat openai-responses

Without files, all recorded transcripts beside the project. Each request goes through the checks of
`tests/support/live_replay.py`: between decisions no byte of the frozen part changes, a segment changes nothing before
it, later messages are sent unchanged, the newest are whole, and nothing invalid is sent. At the end a restart must give
the same bytes, and so must a return from a rewind, an edit and a fork. Prints a line per conversation; status 1 if a
promise was broken.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from condense_cli import Live, api
from condense_cli.errors import CondenseError

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / "support")]

from live_replay import Eager, Replay, as_sent, requests_of  # noqa: E402  # With the folder of the tests' own.
from real import FOLDER, MORE  # noqa: E402

APIS = ("anthropic", "openai-chat", "openai-responses")
KEEP_RECENT = 3
MOST_TRIES = 12
"""Decisions are tried at this many requests, evenly spaced. All requests are sent."""


def messages_of(path: Path, to: str) -> list[Any]:
    """Convert a file into messages of an API; empty if it has no conversation for it."""
    try:
        found = json.loads(api.convert(api.load(path), to).data)
    except CondenseError:
        return []
    messages: list[Any] = found if isinstance(found, list) else found.get("messages") or found.get("input") or []
    return messages


def replay(messages: Sequence[Any], to: str, model: str | None) -> int:
    """Return the number of decisions. Raises AssertionError if a promise is broken."""
    requests = [*requests_of(messages)]
    if not requests:
        return 0
    every = max(1, len(requests) // MOST_TRIES)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "live.db"
        sent = Replay(Live(policy=Eager(), state=state, keep_recent=KEEP_RECENT, format=to), to, model, KEEP_RECENT)
        for number, request in enumerate(requests):
            fitted = sent.send(request, decide=number % every == 0)
        last, again = requests[-1], as_sent(fitted.messages)
        anew = Live(policy=Eager(), state=state, keep_recent=KEEP_RECENT, format=to)
        assert as_sent(anew.fit(last, model=model, decide=False).messages) == again, "a restart changed what is sent"
        check_other_histories(sent, requests, model)
        assert as_sent(sent.live.fit(last, model=model, decide=False).messages) == again, "the first branch changed"
    return sum(one.decision.is_change for one in sent.fitted)


def check_other_histories(sent: Replay, requests: Sequence[list[Any]], model: str | None) -> None:
    """Send a rewind, an edited message and a fork without deciding; frozen parts apply, the rest is unchanged."""
    rewound, last = requests[len(requests) // 2], requests[-1]
    edited = copy.deepcopy(last)
    at = next(n for n in range(len(last) // 2, -1, -1) if last[n].get("role") == "user" or n == 0)
    edited[at] = {"role": "user", "content": "Something else was asked here."}
    forked = [*copy.deepcopy(rewound), {"role": "user", "content": "Go another way."}]
    for request, most in ((rewound, len(rewound)), (edited, at), (forked, len(rewound))):
        fitted = sent.live.fit(request, model="claude-opus-4-6" if model is None else model, decide=False)
        assert fitted.covered <= most, "frozen messages stand for others"
        if model is None:  # Models that bind thinking lose it where the content before it is not sent.
            rest = fitted.messages[fitted.frozen :]
            assert as_sent(rest) == as_sent(request[fitted.covered :]), "another history is not sent as it came"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--api", nargs="*", choices=APIS, default=APIS)
    parser.add_argument("--model", nargs="*", default=["", "claude-fable-5-1"], help="'' is one without a name")
    options = parser.parse_args()
    broken = sent = 0
    files = options.files or sorted(path for folder in (FOLDER, MORE) for path in folder.rglob("*") if path.is_file())
    for path in files:
        for to in options.api:
            messages = messages_of(path, to)
            for model in options.model if messages and to == "anthropic" else [""] if messages else []:
                try:
                    said = f"{replay(messages, to, model or None)} decisions"
                    sent += 1
                except (AssertionError, CondenseError) as error:
                    said, broken = f"BROKEN: {str(error)[:200]}", broken + 1
                print(
                    f"{path.parent.name}/{path.name[-40:]} {to} {model}: {len(messages)} messages, {said}", flush=True
                )
    print(f"{sent} conversations kept the promises, {broken} did not")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
