"""Loop of every worker: read one task per line, do it, answer with one line.

A worker runs in the virtual environment of its peer and does not import condense. The peer's output is discarded, and
its questions to a person get no answer.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any


def serve(work: Callable[[Any, dict[str, Any]], Any]) -> None:
    """Answer tasks `{"input": …, "setting": {…}}` with `{"output": …, "seconds": …}`, or with an error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    tasks = os.fdopen(os.dup(0), encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    for line in tasks:
        task = json.loads(line)
        started = time.process_time()
        try:
            answer: dict[str, Any] = {"output": work(task["input"], task["setting"])}
        except (Exception, SystemExit) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answer["seconds"] = time.process_time() - started
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
