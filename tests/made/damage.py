"""Damaged files: lines gone, twice, swapped, moved or cut short, as crashes, merges and editors leave them."""

from random import Random
from typing import Any

from build import LONG, call, result, text, thinking
from claude_tree import reply, said

Json = dict[str, Any]


def damaged(data: bytes, random: Random) -> bytes:
    """The lines of a file with up to four faults."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 4)):
        if not lines:
            break
        at = random.randrange(len(lines))
        near = min(len(lines) - 1, max(0, at + random.randint(-3, 3)))
        match random.choice(("drop", "drop early", "drop some", "double", "swap", "move", "cut")):
            case "drop":
                del lines[at]
            case "drop early":
                del lines[random.randrange(1 + len(lines) // 5)]
            case "drop some":
                del lines[at : at + random.randint(2, 5)]
            case "double":
                lines.insert(random.randrange(len(lines)), lines[at])
            case "swap":
                lines[at], lines[near] = lines[near], lines[at]
            case "move":
                lines.insert(near, lines.pop(at))
            case _:
                lines[at] = lines[at][: random.randrange(1 + len(lines[at]))]
    return b"\n".join(lines)


def interleaved(random: Random) -> list[Json]:
    """A session of Claude Code in which lines of several replies stand among one another, results anywhere behind."""
    records = [said(1, None, f"Please find the bug.\n{LONG}")]
    waiting: list[tuple[str, int]] = []
    is_tree = random.random() < 0.5
    word = 1
    for number in range(2, random.randint(12, 30)):
        chance = random.random()
        if waiting and chance < 0.4:
            name, caller = waiting.pop(random.randrange(len(waiting)))
            content = [result(name, f"result of {name}\n{LONG}")]
            records.append(said(number, caller if is_tree else number - 1, content))
        elif chance < 0.47:
            records.append(said(number, number - 1, f"word {number}"))
            word = number
        else:
            part = random.choice((text(f"text {number}"), thinking(f"thought {number}"), None, None))
            if part is None:
                part = call(f"call_{number}", random.choice(("Bash", "Read")), command=LONG)
                waiting.append((part["id"], number))
            records.append(reply(number, number - 1, f"m{random.choice((word, word + 0.5, number))}", part))
    late = [said(number, number - 1, [result(name)]) for number, (name, _) in enumerate(waiting, len(records) + 1)]
    return [*records, *(late if random.random() < 0.7 else [])]
