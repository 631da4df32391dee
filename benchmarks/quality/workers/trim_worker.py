"""claude-code-tools: `aichat trim FILE --simple-ui`, which runs this entry point and writes a new session file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from claude_code_tools.trim_session import main
from serving import serve


def work(path: str, setting: dict[str, Any]) -> str:
    folder = Path(path).parent / "trimmed"
    folder.mkdir()
    sys.argv = ["trim-session", path, "--len", str(setting["length"]), "--output-dir", str(folder)]
    if "assistant" in setting:
        sys.argv += ["--trim-assistant-messages", str(setting["assistant"])]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
    written = list(folder.glob("*.jsonl"))
    # It writes nothing if it would save little.
    return str(written[0]) if written else path


serve(work)
