"""The table of formats: the name and module of each, and the keys of a record that can prove it.

The module of a format is imported when a file may be of it: there are many formats, and a run needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final

from ..core.json_text import object_in
from ..core.values import Container
from .engine.base import Evidence, Format
from .engine.container import Document


class FormatRow:
    """A format of the table, imported when it is first needed.

    Its `evidence` is never YES for a record without any of the keys `proof` (see `keys_of`), so it is not asked until
    one comes. Only a format that `may_claim` looks at a whole file. A record of one that comes `in_sets` is a whole
    conversation: many of them are rows.
    """

    def __init__(
        self,
        name: str,
        module: str,
        *proof: str,
        may_claim: bool = False,
        in_sets: bool = False,
        attribute: str = "FORMAT",
    ) -> None:
        self.name = name
        self._module, self._attribute = module, attribute
        self.proof = frozenset(proof)
        self.may_claim = may_claim
        self.in_sets = in_sets

    @cached_property
    def format(self) -> Format:
        form: Format = getattr(import_module(f".{self._module}", __package__), self._attribute)
        return form

    def may_be_proved(self, keys: frozenset[str]) -> bool:
        """Return whether a record with these keys can prove the format."""
        return not self.proof.isdisjoint(keys)

    def is_proved(self, value: Any, keys: frozenset[str]) -> bool:
        """Return whether this record, which has these keys, proves the format."""
        return self.may_be_proved(keys) and self.format.evidence(value) is Evidence.YES

    def claims(self, document: Document) -> bool:
        """Return whether the file as a whole proves the format; several JSON lines never do."""
        source = document.source
        is_one = source.container is not Container.LINES or len(source.spans) == 1
        return is_one and self.may_claim and self.format.claims(document)

    def fits(self, document: Document) -> bool:
        fits = self.format.fits
        return fits is not None and fits(document)


class AddedRow(FormatRow):
    """A format that was added: any record may prove it."""

    def __init__(self, form: Format) -> None:
        super().__init__(form.name, "")
        self.format = form

    def may_be_proved(self, keys: frozenset[str]) -> bool:
        return True


class FormatCandidate:
    """A format while a file is being recognised, with its verdict on the records so far, once it was asked."""

    def __init__(self, row: FormatRow) -> None:
        self.row = row
        self.verdict: Evidence | None = None
        self.strongest = Evidence.MAYBE
        """The strongest verdict so far."""
        self._asked = 0

    def ask(self, seen: Sequence[Any]) -> Evidence:
        """Return the verdict on the newest record; NO once a record excludes the format."""
        while self._asked < len(seen) and self.verdict is not Evidence.NO:
            self.verdict = self.row.format.evidence(seen[self._asked])
            self.strongest = max(self.strongest, self.verdict)
            self._asked += 1
        return Evidence.MAYBE if self.verdict is None else self.verdict


TABLE: Final = (
    FormatRow("claude-code", "claude_code.format", "type"),
    FormatRow("qwen-code", "google", "parentUuid", attribute="QWEN"),
    FormatRow("iflow", "iflow", "parentUuid"),
    FormatRow("claude-stream-json", "claude_code.format", "session_id", attribute="STREAM"),
    FormatRow("codex", "codex", "payload"),
    FormatRow("cline", "roo", "ts", attribute="CLINE"),
    FormatRow("roo", "roo", "ts"),
    FormatRow("swe-agent", "swe_agent", "trajectory"),
    FormatRow("opencode", "opencode", "parts"),
    FormatRow("opencode-events", "opencode", "[]", attribute="EVENTS"),
    FormatRow("pi", "pi", "cwd"),
    FormatRow("session-trace", "lists", "harness", attribute="TRACE"),
    FormatRow("gemini", "gemini", "timestamp"),
    FormatRow("gemini-log", "gemini", "projectHash", attribute="LOG"),
    FormatRow("kimi", "kimi", "type"),
    FormatRow("copilot", "copilot", "parentId"),
    FormatRow("vscode-chat", "exports", "requests", attribute="VSCODE"),
    FormatRow("langchain", "lists", "data", "kwargs", "additional_kwargs", "response_metadata", attribute="LANGCHAIN"),
    FormatRow("google-adk", "google", "events", attribute="ADK"),
    FormatRow("gemini-contents", "google", "parts", may_claim=True, attribute="CONTENTS"),
    FormatRow("ai-sdk-ui", "parts", "parts", attribute="AI_SDK"),
    FormatRow("bedrock-converse", "parts", "content.untyped", attribute="CONVERSE"),
    FormatRow("goose", "parts", "created", may_claim=True, attribute="GOOSE"),
    FormatRow("droid", "parts", "cwd", attribute="DROID"),
    FormatRow("amp", "parts", "messageId", attribute="AMP"),
    FormatRow("atif", "lists", "steps", attribute="ATIF"),
    FormatRow("mini-swe-agent", "swe_agent", may_claim=True, attribute="MINI"),
    FormatRow("inspect", "lists", "eval", "tool_calls", "source", may_claim=True, attribute="INSPECT"),
    FormatRow("inspect-eval", "lists", attribute="ARCHIVES"),
    FormatRow("request-log", "openai_chat", "type", attribute="REQUEST_LOG"),
    FormatRow("tau2", "lists", "turn_idx", attribute="TAU2"),
    FormatRow("langfuse", "traces", "observations", attribute="LANGFUSE"),
    FormatRow("langsmith", "traces", "run_type", attribute="LANGSMITH"),
    FormatRow("bedrock-log", "traces", "schemaType", attribute="BEDROCK"),
    FormatRow("otel-spans", "traces", "resourceSpans", "attributes", attribute="OTEL"),
    FormatRow("chatgpt-export", "exports", "mapping", in_sets=True, attribute="CHATGPT"),
    FormatRow("claude-export", "exports", "sender", may_claim=True, attribute="CLAUDE"),
    FormatRow("openhands", "openhands", "action", "observation", may_claim=True),
    FormatRow("openhands-sdk", "openhands", "kind", attribute="SDK"),
    FormatRow("sharegpt", "sharegpt", "value", "content.value", may_claim=True),
    FormatRow("openai-responses", "openai_responses", "type", may_claim=True),
    FormatRow("openai-chat", "openai_chat", "role"),
    FormatRow("anthropic", "anthropic", "role"),
)
"""Asked in this order. Of formats that fit equally well, the last counts: both chat formats fit plain text turns."""


def keys_of(value: Any) -> frozenset[str]:
    """Return the keys of a record, and as `content.KEY` those of the first part of its content; `[]` for a list.

    A first part without a type adds `content.untyped`.
    """
    if isinstance(value, list):
        return frozenset(("[]",))
    if not isinstance(value, dict):
        return frozenset()
    content = value.get("content")
    first = content[0] if isinstance(content, list) and content else None
    inside = object_in(first)
    kinds = [f"content.{key}" for key in inside] + ["content.untyped"] * (bool(inside) and "type" not in inside)
    return frozenset((*value, *kinds))
