"""Generated configurations: passes, preludes, phases, providers."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from condense_cli.config.loading import parse_configuration
from condense_cli.config.models import Configuration

IMAGE_OPERATIONS = st.sampled_from(
    [{"operation": "keep"}, {"operation": "suppress"}, {"operation": "suppress", "min_tokens": 300}]
)

OPERATIONS = st.one_of(
    st.just({"operation": "keep"}),
    st.just({"operation": "suppress"}),
    st.just({"operation": "suppress", "min_tokens": 30}),
    st.just({"operation": "summarize", "params": {"summarize": {"max_tokens": 40}}}),
    st.builds(
        lambda lines, chars, keep, ellipsis: {
            "operation": "truncate",
            "params": {
                "truncate": {
                    **({"max_lines": lines} if lines else {}),
                    **({"max_chars": chars} if chars or not lines else {}),
                    "keep": keep,
                    "add_ellipsis": ellipsis,
                }
            },
        },
        st.one_of(st.none(), st.integers(1, 8)),
        st.integers(20, 200),
        st.sampled_from(["head", "tail", "both"]),
        st.booleans(),
    ),
)

SELECTIONS = st.one_of(
    st.builds(lambda n: {"type": "preserve_recent", "keep_recent_count": n}, st.integers(0, 8)),
    st.builds(lambda p: {"type": "preserve_percent", "keep_percentage": p}, st.integers(0, 100)),
    st.just({"type": "custom", "tools": {"exclude": ["mcp__*"]}}),
    st.just({"type": "custom", "roles": ["user", "tool"], "age": {"min": 2}}),
    st.just({"type": "custom", "range": {"start": 1, "end": -1}, "min_tokens": 5}),
)

BATCHES = st.builds(
    lambda selection, first, last, stops: {
        "selection": selection,
        "mode": "batch",
        "batch_config": {
            "operation": "summarize",
            "summarization_config": {"keep_first": first, "keep_last": last, "max_tokens": 60},
        },
        "stop_at_target": stops,
    },
    SELECTIONS,
    st.integers(0, 2),
    st.integers(0, 3),
    st.booleans(),
)

PRELUDES = st.one_of(
    st.just({"enabled": False}),
    st.builds(
        lambda finders, keep, parameters: {
            "operations": dict(
                zip(
                    ("deduplicate_file_reads", "consolidate_tool_results", "remove_obsolete_state"),
                    finders,
                    strict=True,
                )
            ),
            "keep": keep,
            "tool_parameters": parameters,
            "file_tools": ["mcp__*"],
            "state_tags": ["task"],
        },
        st.one_of(st.just((True, True, True)), st.tuples(st.booleans(), st.booleans(), st.booleans())),
        st.sampled_from(["latest", "earliest"]),
        st.booleans(),
    ),
)


@st.composite
def configurations(draw: st.DrawFn, *, is_lossless: bool = False) -> Configuration:
    passes: list[dict[str, Any]] = []
    for number in range(0 if is_lossless else draw(st.integers(1, 3))):
        if draw(st.integers(0, 3)) == 0:
            passes.append({"id": f"pass-{number}", **draw(BATCHES)})
            continue
        types: dict[str, Any] = {name: draw(OPERATIONS) for name in ("message_text", "tool_parameters", "tool_results")}
        types["images"] = draw(IMAGE_OPERATIONS)
        passes.append(
            {
                "id": f"pass-{number}",
                "selection": draw(SELECTIONS),
                "individual_config": {
                    "defaults": types,
                    "overrides": draw(
                        st.lists(
                            st.builds(
                                lambda index, operation: {
                                    "message_index": index,
                                    "operations": {"tool_results": operation},
                                },
                                st.integers(-4, 10),
                                OPERATIONS,
                            ),
                            max_size=1,
                        )
                    ),
                },
                "execution": draw(
                    st.sampled_from(
                        [{"type": "always"}, {"type": "conditional", "condition": {"token_threshold": 300}}]
                    )
                ),
                "stop_at_target": draw(st.booleans()),
            }
        )
    return parse_configuration(
        json.dumps(
            {
                "passes": passes,
                "lossless_prelude": draw(PRELUDES),
                "keep_first": draw(st.integers(0, 2)),
                "thinking": draw(st.sampled_from(["auto", "keep"] if is_lossless else ["auto", "drop", "keep"])),
                "target_tokens": draw(st.one_of(st.none(), st.integers(100, 2_000))),
                "pins": draw(st.sampled_from([[], [{"regex": "value = 4\\b"}], [{"tools": {"include": ["bash"]}}]])),
            }
        )
    )


WORDS = {"strategy": st.sampled_from(["keep", "truncate", "summarize"]), "threshold": st.integers(0, 40)}
TOOLS_OF_PHASES = {"strategy": st.sampled_from(["suppress", "truncate", "summarize"]), "threshold": st.integers(0, 60)}
LINE_LIMITS = {"truncate_lines": st.integers(1, 6), "summary_max_tokens": st.integers(10, 60)}
PRESERVED = {"preserve_user_messages": st.booleans(), "preserve_assistant_text": st.booleans()}


def section(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of these keys."""
    return st.fixed_dictionaries({}, optional=keys)


TRUNCATIONS = section(
    preserve_recent_count=st.integers(0, 8),
    truncation_mode=st.sampled_from(["suppress", "truncate"]),
    max_tool_result_lines=st.integers(1, 8),
    max_tool_param_chars=st.integers(20, 200),
    **PRESERVED,
)

LOSSY_PHASES = section(
    enabled=st.booleans(),
    target_reduction_percent=st.sampled_from([30, 90]),
    tool_results=section(**TOOLS_OF_PHASES, **LINE_LIMITS),
    tool_params=section(**TOOLS_OF_PHASES, truncate_chars=st.integers(20, 200)),
    assistant_reasoning=section(**WORDS, **LINE_LIMITS),
    user_messages=section(**WORDS, **LINE_LIMITS),
    processing_order=st.permutations(["tool_results", "tool_params", "assistant_reasoning", "user_messages"]),
)


@st.composite
def truncations(draw: st.DrawFn) -> Configuration:
    value = {"provider": "truncation", "truncation": draw(TRUNCATIONS), "lossless_prelude": draw(PRELUDES)}
    return parse_configuration(json.dumps({**value, "target_tokens": draw(st.sampled_from([None, 300]))}))


def phased(fallback: str) -> st.SearchStrategy[Configuration]:
    """Configurations by phases with one of the fallbacks; many of them with a target that calls for it."""
    phases = section(
        lossless_phase=section(enabled=st.booleans()),
        selection_phase=section(preserve_recent_count=st.integers(0, 6), **PRESERVED),
        lossy_phase=LOSSY_PHASES,
        llm_phase=section(enabled=st.booleans(), summary_max_tokens=st.integers(10, 60)),
        native=section(max_messages_to_keep=st.integers(0, 4)),
        target_tokens=st.sampled_from([50, 300, 1_000]),
    )
    again = section(
        max_passes=st.integers(1, 4),
        stricter_thresholds_each_pass=st.booleans(),
        threshold_reduction_factor=st.sampled_from([0.1, 0.5, 1]),
    )
    return st.builds(
        lambda value, multi_pass: parse_configuration(
            json.dumps({**value, "fallback_phase": {"strategy": fallback, "multi_pass": multi_pass}})
        ),
        phases,
        again,
    )
