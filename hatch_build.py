"""Makes the table of tokens when the package is built or installed (condense_cli/core/token_table.py)."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TokenTableHook(BuildHookInterface[Any]):
    """Writes the table beside its module, from the vocabulary of the tokenizer that the build requires.

    Where that cannot be had the package is built without a table, and the tokenizer counts small texts too.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        module = Path(self.root, "condense_cli", "core", "token_table.py")
        spec = spec_from_file_location("token_table", module)
        assert spec is not None
        assert spec.loader is not None
        table = module_from_spec(spec)
        spec.loader.exec_module(table)
        try:
            import splintr
        except ImportError as error:
            self.app.display_warning(f"no table of tokens: {error}")
            return
        token = splintr.Tokenizer.from_pretrained(table.ENCODING).decode_token_bytes
        table.TABLE.write_bytes(table.table_of([bytes(token(rank)) for rank in range(table.TOKENS)]))
        build_data["artifacts"].append(f"condense_cli/core/{table.TABLE.name}")
