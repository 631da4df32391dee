"""What newer versions of Claude Code write beside the messages of a session, with any texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]


def attachments(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Json]:
    """An attachment of one of the classes that the reader knows, or of an unknown kind, and the keys beside it."""

    def holding(**keys: Any) -> Json:
        return {"attachment": keys}

    return st.one_of(
        texts.map(lambda told: holding(type="prompt_snapshot", systemPrompt=[told], tools=[{"name": "Read"}])),
        texts.map(lambda told: holding(type="nested_memory", content={"path": "a", "content": told})),
        texts.map(lambda told: {**holding(type="date"), "rendered": [{"content": told}], "renderedRole": "system"}),
        texts.map(lambda told: holding(type="hook_system_message", content=told)),
        texts.map(lambda told: holding(type="a_kind_of_later", content=told)),
        st.just(holding(type="tool_results_cut", callIds=["call_1", "call_2"], standIn="[cleared]")),
        st.just(holding(type="thinking_stripped", scope="all")),
    )


def copies_of_requests(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Json]]:
    def copied(told: str) -> list[Json]:
        shape = {"system": [{"type": "text", "text": told}], "tools": []}
        message = {"role": "user", "content": told}
        return [{"type": "api-request-shape", "shape": shape}, {"type": "api-request-blob", "message": message}]

    return texts.map(copied)
