"""Runs of `condense` with a model that writes the summaries: the user's files, and what is read off a report."""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from build import one_batch
from helpers import Outcome, as_lines, condense, session
from model_server import ModelServer

from condense_cli import api
from condense_cli.errors import ExitStatus

APIS: Final = ("openai", "anthropic")
KEYS: Final = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-ant-test"}

CALL: Final = Decimal("0.0012")
"""Dollars of a call that the server answers, at the price of the profiles."""
_EACH: Final = {
    "id": "each",
    "selection": {"type": "preserve_recent", "keep_recent_count": 1},
    "individual_config": {
        "defaults": {"tool_results": {"operation": "summarize", "params": {"summarize": {"max_tokens": 60}}}}
    },
}

WAYS: Final[Mapping[str, dict[str, Any]]] = {
    "individual": {"passes": [_EACH]},
    "batch": {"passes": [one_batch(keep_first=1)]},
    "native": {"provider": "native"},
}

CONFIGURATIONS: Final[Mapping[str, dict[str, Any]]] = {
    **WAYS,
    "phases": {
        "selection_phase": {"preserve_recent_count": 1},
        "lossless_phase": {"enabled": False},
        "lossy_phase": {"enabled": False, "target_reduction_percent": 90},
        "llm_phase": {"enabled": True, "max_parallel_calls": 2, "summary_max_tokens": 60},
        "fallback_phase": {"enabled": False},
    },
}
BY_MODEL: Final = "A short summary of the listing in 2.py, from 1.py on."
"""It names what a summary of the session must hold, in a block and in messages: word, files."""


class Desk:
    """A folder with a session, the configurations and the user's own one, and what commands made there."""

    def __init__(self, folder: Path) -> None:
        self.input, self.output = folder / "session.jsonl", folder / "small.jsonl"
        self.own = folder / "condense" / "condense.yaml"
        self.own.parent.mkdir()
        self.input.write_bytes(as_lines(session()))
        self._folder = folder

    def profiles(self, server: ModelServer, more: str = "", **keys: object) -> None:
        """The user's own configuration, with a profile at the server for each API, of that name."""
        common = {"model": "small", "context_window": 100_000, "max_retries": 1, "price": {"input": 1, "output": 10}}
        each = {
            "openai": {"api": "openai", "base_url": f"{server.url}/v1", **common, **keys},
            "anthropic": {"api": "anthropic", "base_url": server.url, **common, **keys},
        }
        self.own.write_text(f"{more}\nprofiles: {json.dumps(each)}\n")

    def configuration(self, way: str, **keys: object) -> Path:
        path = self._folder / f"{way}.json"
        path.write_text(json.dumps({**CONFIGURATIONS[way], **keys}))
        return path

    def command(self, way: str, *arguments: str, **keys: object) -> list[str]:
        to = ("-o", str(self.output))
        return ["run", str(self.input), "-c", str(self.configuration(way, **keys)), *to, *arguments]

    def run(self, way: str, *arguments: str, **keys: object) -> Outcome:
        self.output.unlink(missing_ok=True)
        done = condense(*self.command(way, *arguments, **keys), env=KEYS)
        assert "Traceback" not in done.stderr, done.stderr
        assert "sk-test" not in done.text + done.stderr
        return done

    def report(self, way: str, *arguments: str, status: ExitStatus = ExitStatus.DONE, **keys: object) -> Any:
        done = self.run(way, *arguments, "--json", "--explain", **keys)
        assert done.status == status, (done.status, done.text[-500:], done.stderr)
        return done.json

    @property
    def texts(self) -> list[str]:
        """Every text of the output."""
        return [block.text for _, block in api.load(self.output).blocks()]

    @property
    def is_unchanged(self) -> bool:
        return self.output.read_bytes() == self.input.read_bytes()


def cost_of(report: Any) -> Decimal:
    (used,) = report["summaries"]
    assert used["cost"] == (
        report["cost"]["spent"] if Decimal(str(report["cost"]["spent"])) or not used["at_least"] else None
    )
    return Decimal(str(report["cost"]["spent"]))


def reasons(report: Any) -> set[str]:
    """Why blocks that a pass selects stay as they are."""
    results = [entry for entry in report["changes"] if entry["kind"] == "tool_result"]
    return {entry["reason"] for entry in results if not entry["changed"]}
