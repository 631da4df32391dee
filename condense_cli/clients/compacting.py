"""Answer the plugins of clients that ask for a compaction: they send the messages, and get the text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .. import api
from ..core.factor import typical_of
from ..core.tokens import Counter
from ..core.wording import count_in
from ..ledger.compaction import compaction, compaction_budget
from ..money.prices import context_window
from .choices import Client


def compact(client: str, given: Mapping[str, Any]) -> str:
    """Return the text of a compaction of a session, as its client stores it.

    `given` holds opencode's `info` and `messages`, or pi's `entries`; the user's `instructions`, and the `window` and
    name of the `model`, where the client knows them. Raises CondenseError.
    """
    if client == Client.PI:
        data = b"".join(json.dumps(entry).encode() + b"\n" for entry in given["entries"])
    else:
        data = json.dumps({"info": given["info"], "messages": given["messages"]}).encode()
    transcript = api.loads(data, format=client, lenient=True)
    count = Counter.of(transcript)
    model, window = given.get("model") or transcript.model, given.get("window")
    factor = typical_of(model)
    total = sum(map(count.message, transcript.messages))
    tokens = count_in(os.environ.get("CONDENSE_COMPACT_TOKENS", "").strip())
    window = window if isinstance(window, int) and window > 0 else context_window(model)
    budget = compaction_budget(total, factor, tokens, window)
    return compaction(transcript.messages, budget, count, str(given.get("instructions") or "")).text
