"""Small files of every format, and what becomes of them where values have other types, or names are others."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final

import claude_tree
import further_agents
from agent_work import WORK
from build import assistant, call, result, text, thinking, user
from pictures import PIXEL
from yesterday.sources import inputs

Path = tuple[str | int, ...]

ODD: Final[tuple[Any, ...]] = (None, True, 7, 1.5, "", "x", [], ["a"], {}, {"a": 1}, [{}], [[]], [None])
_IMAGE: Final = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
_ASKED: Final = user([text("Look at this."), _IMAGE, {"type": "document", "source": {"type": "text", "data": "words"}}])
_ANSWERED: Final = assistant(
    [
        thinking(),
        {"type": "server_tool_use", "id": "s1", "name": "bash_code_execution", "input": {"command": "ls"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content": {"stdout": "a.py", "stderr": "no"}},
        call("t1", "Read", path="a.py"),
    ]
)
_TOLD: Final = user(
    [result("t1", [text("x\ny"), _IMAGE, {"type": "tool_reference", "tool_name": "x"}]), text("Go on.")]
)
_CHAT: Final = [
    user([text("x"), {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]),
    {
        "role": "assistant",
        "content": [text("y"), {"type": "refusal", "refusal": "no"}],
        "reasoning_content": "Hm.",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "d", "type": "custom", "custom": {"name": "g", "input": "words"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": [text("z")]},
    {"role": "tool", "tool_call_id": "d", "content": "z"},
]


@cache
def samples() -> dict[str, bytes]:
    """Bytes by a name that begins with that of the format."""
    session = [
        claude_tree.said(1, None, _ASKED["content"]),
        claude_tree.reply(2, 1, "m", *_ANSWERED["content"]),
        claude_tree.said(3, 2, _TOLD["content"]),
    ]
    more = {
        "anthropic with all kinds": [_ASKED, _ANSWERED, _TOLD],
        "claude-code with all kinds": session,
        "openai-chat with all kinds": _CHAT,
    }
    parts = {name: further_agents.WRITABLE[name](WORK) for name in further_agents.WRITABLE if "," in name}
    lines = {name: "".join(json.dumps(each) + "\n" for each in value).encode() for name, value in more.items()}
    return {**inputs(), **parts, **lines}


def loaded(data: bytes) -> tuple[Any, Callable[[Any], bytes]]:
    """The value of a file, and how it is written again."""
    try:
        return json.loads(data), lambda value: json.dumps(value).encode()
    except ValueError:
        return [json.loads(line) for line in data.splitlines()], lambda value: "".join(
            json.dumps(each) + "\n" for each in value
        ).encode()


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all values inside one."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def put(value: Any, path: Path, new: Any) -> Any:
    """Exchange the value at a path; the old one is returned."""
    for key in path[:-1]:
        value = value[key]
    old, value[path[-1]] = value[path[-1]], deepcopy(new)
    return old


def of_every_shape(value: Any) -> list[Path]:
    """A path for each shape of paths, which is one without its numbers."""
    found: dict[Path, Path] = {}
    for path in paths(value):
        found.setdefault(tuple("*" if isinstance(key, int) else key for key in path), path)
    return [*found.values()]


def mutated(data: bytes, random: Random) -> bytes:
    """The file with up to three values of other types, missing, or under other names."""
    value, write = loaded(data)
    for _ in range(random.randint(1, 3)):
        path = random.choice([*paths(value)] or [()])
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        match random.choice(("type", "type", "drop", "rename")) if path else "":
            case "type":
                put(value, path, random.choice(ODD))
            case "drop":
                del holder[path[-1]]
            case "rename" if isinstance(holder, dict):
                holder[f"{path[-1]}_"] = holder.pop(path[-1])
    return write(value)


def renamed(value: Any, key: str) -> Any:
    """The same with a key renamed wherever it is."""
    if isinstance(value, list):
        return [renamed(each, key) for each in value]
    if not isinstance(value, dict):
        return value
    return {f"{name}_" if name == key else name: renamed(inner, key) for name, inner in value.items()}


def retyped(value: Any, kind: str) -> Any:
    """The same with one type of parts or records called otherwise."""
    if isinstance(value, list):
        return [retyped(each, kind) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: f"{kind}_" if name in ("type", "kind") and inner == kind else retyped(inner, kind)
        for name, inner in value.items()
    }


def kinds(value: Any) -> set[str]:
    """All types of parts and records in a value."""
    if isinstance(value, list):
        return {kind for each in value for kind in kinds(each)}
    if not isinstance(value, dict):
        return set()
    own = {inner for name, inner in value.items() if name in ("type", "kind") and isinstance(inner, str)}
    return own.union(*map(kinds, value.values()))


def wrapped(value: Any, key: str, way: str) -> Any:
    """The same with every value under a key inside another one: nothing is gone, and all is of another type."""
    if isinstance(value, list):
        return [wrapped(each, key, way) for each in value]
    if not isinstance(value, dict):
        return value
    ways: dict[str, Callable[[Any], Any]] = {
        "object": lambda held: {"v": held},
        "list": lambda held: [held],
        "string": json.dumps,
    }
    return {name: ways[way](inner) if name == key else wrapped(inner, key, way) for name, inner in value.items()}


def stretches(value: Any, path: Path = ()) -> Iterator[tuple[Path, int, int]]:
    """The second half, and another part, of every list of objects, by its path."""
    if isinstance(value, list) and len(value) >= 4 and all(isinstance(each, dict) for each in value):
        yield path, len(value) // 2, len(value)
        yield path, len(value) // 4, len(value) // 2 + 1
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items if len(path) < 4 else ():
        yield from stretches(inner, (*path, key))


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value
