"""The JSON that the commands print, as types: exactly these keys, each with a value of its type."""

from typing import Any

LOST: dict[str, Any] = {
    "counts": {"words": int, "decision": int, "fact": int},
    "things": [{"kind": str, "text": str, "message": int}],
    "whole": bool,
}

COUNTING: dict[str, Any] = {
    "factor": float,
    "source": str,
    "error_percent": (float, type(None)),
    "doubt": str,
}

SHAPE: dict[str, Any] = {
    "version": int,
    "condense": str,
    "input": str,
    "output": (str, type(None)),
    "backup": type(None),
    "new_session": type(None),
    "format": str,
    "model": (str, type(None)),
    "configuration": str,
    "messages": {"before": int, "after": int},
    "tokens": {
        "before": int,
        "after": int,
        "saved": int,
        "saved_percent": float,
        "saved_by_references": int,
        "encoding": str,
        "exact": bool,
        "counter": str,
        "overhead": int,
        "overhead_source": str,
        "estimated": {"before": int, "after": int},
        "target": (int, type(None)),
        "bare": {"before": int, "after": int, "saved": int, "saved_by_references": int, "target": (int, type(None))},
        "counting": COUNTING,
    },
    "bytes": {"before": int, "after": int},
    "cost": {
        "currency": str,
        "spent": (int, float),
        "one_time": (int, float, type(None)),
        "next_turn_before": (int, float, type(None)),
        "next_turn_after": (int, float, type(None)),
        "pays_after_turns": (float, type(None)),
        "pays": (bool, type(None)),
        "prices": (str, type(None)),
        "assumptions": [str],
    },
    "passes": [
        {
            "id": str,
            "name": str,
            "status": str,
            "reason": str,
            "tokens_before": int,
            "tokens_after": int,
            "changes": int,
            "seconds": float,
            "calls": int,
            "cost": (int, float),
        }
    ],
    "savings": [{"content": str, "operation": str, "blocks": int, "tokens": int}],
    "references": {"resolved": int, "unresolved": int, "saved": int},
    "summaries": [],
    "warnings": [str],
    "expected": {
        "percent": float,
        "low": float,
        "high": float,
        "cuts": int,
        "facts": (float, type(None)),
        "edits": (float, type(None)),
    },
    "lost": LOST,
    "slim": type(None),
}

LINES: dict[str, Any] = {"reason": str, "lines": int, "message": (int, type(None)), "name": str}

EXPLAINED: dict[str, Any] = {
    "pass_id": str,
    "message": int,
    "block": int,
    "kind": (str, type(None)),
    "content_type": (str, type(None)),
    "tool": (str, type(None)),
    "operation": str,
    "changed": bool,
    "tokens_before": int,
    "tokens_after": int,
    "bare_before": int,
    "bare_after": int,
    "reason": str,
    "cut": [LINES],
    "kept": [LINES],
}

DIFF_SHAPE: dict[str, Any] = {
    "version": int,
    "messages": {"before": int, "after": int},
    "messages_changed": int,
    "tokens": {"before": int, "after": int, "encoding": str, "exact": bool, "counter": str, "counting": COUNTING},
    "counts": {
        "cut": int,
        "summarized": int,
        "referenced": int,
        "changed": int,
        "removed": int,
        "added": int,
    },
    "blocks": [
        {
            "message": int,
            "role": str,
            "kind": str,
            "what": str,
            "label": str,
            "tokens": {"before": int, "after": int},
            "reason": str,
            "lines": [{"sign": str, "line": int, "lines": [str], "why": [LINES]}],
            "stayed": [LINES],
        }
    ],
    "lost": LOST,
}


def check_shape(value: Any, shape: Any, where: str = "$") -> None:
    """The value has exactly the keys of the shape, and values of its types."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        assert value.keys() == shape.keys(), where
        for key, inner in shape.items():
            check_shape(value[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for index, item in enumerate(value):
            check_shape(item, shape[0] if shape else None, f"{where}[{index}]")
    else:
        assert isinstance(value, shape), where
        assert not isinstance(value, bool) or bool in (shape if isinstance(shape, tuple) else (shape,)), where
