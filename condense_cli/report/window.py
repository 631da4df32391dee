"""How much a model can read at once."""

from __future__ import annotations


def context_window(model: str | None) -> int | None:
    """Tokens of a model's context window; None where it is not known. Routing prefixes do not matter."""
    if not model:
        return None
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    for name in dict.fromkeys((model, model.rsplit("/", 1)[-1])):
        try:
            _, found = get_snapshot().find_provider_model(name, None, None, None)
        except LookupError:
            continue
        if found.context_window:
            return int(found.context_window)
    return None
