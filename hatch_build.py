"""Makes the table of tokens when the package is built or installed, and compiles its kernels for a wheel."""

from __future__ import annotations

import shutil
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildHook(BuildHookInterface[Any]):
    """Writes the table beside its module, and puts compiled modules into the wheel.

    The vocabulary is that of the tokenizer that the build requires. Where it cannot be had the package is built without
    a table, and the tokenizer counts small texts too. Without a compiler the kernels stay Python.
    """

    made: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._write_table(build_data)
        if version != "editable":
            self._compile(build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.made:
            shutil.rmtree(self.made, ignore_errors=True)

    def _write_table(self, build_data: dict[str, Any]) -> None:
        table = self._module("condense_cli/tokens/token_table.py")
        try:
            import splintr
        except ImportError as error:
            self.app.display_warning(f"no table of tokens: {error}")
            return
        token = splintr.Tokenizer.from_pretrained(table.ENCODING).decode_token_bytes
        table.TABLE.write_bytes(table.table_of([bytes(token(rank)) for rank in range(table.TOKENS)]))
        build_data["artifacts"].append(f"condense_cli/tokens/{table.TABLE.name}")

    def _compile(self, build_data: dict[str, Any]) -> None:
        self.made = Path(tempfile.mkdtemp(prefix="condense-kernels-"))
        try:
            made = self._module("compiling.py").compile_kernels(Path(self.root), self.made)
        except (Exception, SystemExit) as error:  # There are as many as compilers.
            self.app.display_debug(f"not compiled: {error}")
            return
        for path in made:
            build_data["force_include"][str(path)] = path.relative_to(self.made).as_posix()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _module(self, path: str) -> ModuleType:
        """Import a file of the project alone, without the package that it belongs to."""
        file = Path(self.root, path)
        spec = spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[file.stem] = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
