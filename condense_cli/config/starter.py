"""The text of a new configuration: works as it is, and says in comments what else there is.

Comments begin with `# `; a `#` directly before a key switches that key off.
"""

from __future__ import annotations

from typing import Final

DEFAULT_FILE: Final = "condense.yaml"

STARTER: Final = """\
# A configuration for condense.
#   condense config validate condense.yaml                  checks it
#   condense run session.jsonl --config condense.yaml       shows what it would change

name: mine
description: Cuts old tool results and leaves long parameters out.

# Stop as soon as so many tokens are reached:
#target_tokens: 60000

# Messages at the start that nothing touches. The first request stays in any case.
keep_first: 1

# A run that would save fewer tokens changes nothing.
#min_saving: 500

# What nothing touches, wherever it stands:
pins:
  - {regex: "TODO|FIXME"}
#  - {tools: {include: ["mcp__*"]}}

# Worked through in order.
passes:
  - id: old-results
    name: Cut old tool results
    # Which messages the pass may touch: all but the last 10 turns.
    selection:
      type: preserve_recent
      keep_recent_count: 10
      # More conditions; all of them must hold:
#      tools: {exclude: [Task]}
#      min_tokens: 100
#      superseded: true
    individual_config:
      # An operation for each content type: keep, suppress or truncate. Images: keep or suppress.
      defaults:
        message_text: {operation: keep}
        tool_parameters: {operation: suppress, min_tokens: 50}
        tool_results: {operation: truncate, params: {truncate: {max_lines: 10, keep: both}}}
        images: {operation: keep}

  - id: ancient-results
    name: Leave ancient tool results out
    selection: {type: preserve_recent, keep_recent_count: 50}
    individual_config:
      defaults:
        tool_results: {operation: suppress}
    # Only above so many tokens:
    execution: {type: conditional, condition: {token_threshold: 30000}}
#    stop_at_target: true
"""


def starter(preset: str | None = None, text: str = "") -> str:
    """A new configuration: the commented one, or the text of a preset with a line that says so."""
    if preset is None:
        return STARTER
    return f"# A configuration for condense, begun from the preset {preset}.\n{text}"
