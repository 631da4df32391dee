"""cozempic: `cozempic treat FILE -rx PRESCRIPTION --execute`, into the file; a dry run without the last."""

from __future__ import annotations

import sys
from typing import Any

from cozempic.cli import main
from serving import serve


def work(path: str, setting: dict[str, Any]) -> str:
    sys.argv = ["cozempic", "treat", path, "-rx", setting["prescription"]]
    if setting.get("execute", True):
        sys.argv.append("--execute")
    main()
    return path


serve(work)
