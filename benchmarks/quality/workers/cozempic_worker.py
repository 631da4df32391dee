"""cozempic: `cozempic treat FILE -rx PRESCRIPTION --execute`, which writes into the file."""

from __future__ import annotations

import sys
from typing import Any

from cozempic.cli import main
from serving import serve


def work(path: str, setting: dict[str, Any]) -> str:
    sys.argv = ["cozempic", "treat", path, "-rx", setting["prescription"], "--execute"]
    main()
    return path


serve(work)
