"""The kernels as Python and as compiled modules: one of either, imported from a folder, and processes that use them."""

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from real import PROJECT

KERNELS: Final = Path("condense_cli", "kernels")
_CONDENSES: Final = """
import json, sys
import condense_cli
from condense_cli.tokens.counting import Counter
from condense_cli.errors import CondenseError
from condense_cli.kernels import IS_COMPILED
print(json.dumps(IS_COMPILED), flush=True)
for line in sys.stdin:
    path, ways = json.loads(line)
    found = []
    for way in ways:
        try:
            whole = condense_cli.load(path)
            if share := way.pop("share", 0):
                way["target_tokens"] = Counter.of(whole).transcript(whole) * share // 100
            found.append(condense_cli.dump(condense_cli.condense(whole, **way)).hex())
        except CondenseError as error:
            found.append(str(error))
    print(json.dumps(found), flush=True)
"""


class Worker:
    """A process that condenses with the package in a folder; it ends with this one."""

    def __init__(self, folder: Path, *, is_compiled: bool) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CONDENSES], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._read() is is_compiled

    def condensed(self, path: Path, *ways: dict[str, Any]) -> list[str]:
        """What a file becomes in each way, or why it becomes nothing. `share` is a target in percent of its tokens."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(path), ways]) + "\n")
        self._process.stdin.flush()
        found: list[str] = self._read()
        return found

    def end(self) -> None:
        self._process.communicate()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


def kernel(folder: Path, name: str) -> ModuleType:
    """Import a kernel from a folder, compiled if it is so there, beside the one that the package uses."""
    path = next((folder / KERNELS).glob(f"{name}.*.so"), folder / KERNELS / f"{name}.py")
    spec = spec_from_file_location(f"condense_cli.kernels.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


__all__ = ["KERNELS", "PROJECT", "Worker", "kernel"]
