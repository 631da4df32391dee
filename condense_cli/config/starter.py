"""The text of a new configuration: works as it is, and says in comments (of YAML) what else there is.

Comments begin with `# `; a `#` directly before a key switches that key off.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from .yaml_reading import read_yaml

DEFAULT_FILE: Final = "condense.yaml"

STARTER: Final = """\
# A configuration for condense.
# Check it:             condense config validate condense.yaml
# See what it changes:  condense run session.jsonl --config condense.yaml

name: mine
description: Cuts old tool results and leaves long parameters out.

# Cut down to this many tokens:
#target_tokens: 60000

# Messages at the start that are never touched. The first request always stays.
keep_first: 1

# A run that would save less changes nothing: a share, or a number of tokens.
#min_saving: 0.5%

# Never cut: messages (34, 40:80, last:20), tools, files, texts.
keep:
  - /TODO|FIXME/
#  - "tool:mcp__*"
#  - "file:CLAUDE.md"

# Always cut, written the same way:
#cut: ["tool:WebFetch"]

# Before the passes: lines repeated in a newer block become a reference to it. Nothing is lost.
lossless_prelude:
  enabled: true
  # Rewrite the parameters of calls too:
#  tool_parameters: true

# Run in this order.
passes:
  # With a target: cuts the lines that later work needs least, until the target is met.
  - id: to-target
    mode: target

  - id: old-results
    name: Cut old tool results
    # Messages the pass may touch: all but the last 10 turns.
    selection:
      type: preserve_recent
      keep_recent_count: 10
      # More conditions; all must hold:
#      tools: {exclude: [Task]}
#      min_tokens: 100
#      superseded: true
    individual_config:
      # An operation for each content type: keep, suppress, truncate or summarize. Images: keep or suppress.
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
    # Only above this many tokens:
    execution: {type: conditional, condition: {token_threshold: 30000}}
#    stop_at_target: true
"""


def starter(preset: str | None = None, text: str = "", file: str = DEFAULT_FILE) -> str:
    """Return a new configuration: the commented one, or the text of a preset with a line that says so.

    Its comments name the file that it is written to.
    """
    if preset is not None:
        return f"# A configuration for condense, based on the preset {preset}.\n{text}"
    # Return a file's name in one line that YAML takes, whatever its characters.
    return STARTER.replace(
        DEFAULT_FILE, "".join(char if char == " " or char.isprintable() else "?" for char in shlex.quote(file))
    )


def starter_values(preset: str | None = None, text: str = "") -> dict[str, Any]:
    """Return the plain values of `starter`, for JSON, which has no comments."""
    value, _ = read_yaml(starter(preset, text), DEFAULT_FILE)
    return dict(value)
