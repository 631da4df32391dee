"""Measure which rules, preferences, decisions and facts survive condensing in chats without tools.

    python benchmarks/chats.py                               made-up chats, and the recorded ones in ../shared
    python benchmarks/chats.py --set fitted --presets balanced --lost
    python benchmarks/chats.py --json found.json

Sentences of `planted_texts.py` are planted into each chat at seeded random places: half as messages of their own, half
inside a message of the same speaker. A sentence survives if it is there word for word, in a message, a summary or a
ledger. Sentences that a later one replaced do not count. No chat holds both sets; each sentence goes into several
chats. `words` is the share of tokens that the user wrote: with a smaller budget even those have to go.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

import msgspec
from msgspec import Struct
from planted_texts import SETS, Planted
from recorded import MORE

from condense_cli import api
from condense_cli.api.evaluating import KNOWN_WAYS, configured
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Message
from condense_cli.core.values import Role
from condense_cli.quality.cases import Case, Way
from condense_cli.quality.recall import Questions, TextReader
from condense_cli.tokens.counting import Counter

PRESETS: Final = ("balanced", "cost", "max")
BUDGETS: Final = (0.2, 0.3, 0.5)
CHATS: Final = 6
"""Number of chats of each kind."""
LEAST_CHARACTERS: Final = 24_000
PER_CHAT: Final = 12

Said = tuple[str, str]
"""A speaker and a text."""


class Chat(Struct, frozen=True):
    """A chat with planted sentences, and those that have to survive."""

    kind: str
    said: list[Said]
    asked: list[Planted]


# ---------------------------------------------------------------------------------------------------------- the chats

_SUBJECTS: Final = (
    "the harbour walk",
    "our spring menu",
    "that old piano",
    "the choir",
    "the shed",
    "her second novel",
)
_TELLS: Final = (
    "Yesterday I walked past {a} again and thought about how {b} came to be.",
    "People in our street talk about {a} as if it had been there forever.",
    "What would you say about {a} compared with {b}?",
    "There is a photo in which {a} looks smaller than it is.",
    "I wonder how {a} and {b} would look together.",
    "It rained most of the week, so {a} had to wait.",
    "Can you tell me more about {a}?",
    "That reminds me a little of {b}, though I cannot say why.",
)
_REPLIES: Final = (
    "There are several ways to look at {a}, and each of them says something about {b}.",
    "Many people find that {a} grows on them slowly.",
    "One could begin with {a} and come back to {b} later.",
    "The history of {a} is longer than it seems, and parts of it were never written down.",
    "Compared with {b}, it is quieter, and perhaps that is the charm of it.",
    "A good starting point might be the light in the late afternoon.",
    "Others would disagree, of course, and look at {b} first.",
    "In short, {a} can be seen as a story with more than one ending.",
)


def _made_up(number: int) -> list[Said]:
    """Make up a chat about nothing much; the user says a third to a half of it."""
    random = Random(number)
    said: list[Said] = []
    while sum(len(text) for _, text in said) < LEAST_CHARACTERS:
        for speaker, sentences, most in (("user", _TELLS, 5), ("assistant", _REPLIES, 4 + 2 * number)):
            subjects = dict(zip("ab", random.sample(_SUBJECTS, 2), strict=True))
            # Random subjects keep sentences from repeating each other.
            chosen = (f"{random.choice(sentences)}".format(**subjects) for _ in range(random.randint(1, most)))
            said.append((speaker, " ".join(chosen)))
    return said


def _of_trees() -> Iterator[list[Said]]:
    """Yield questions and answers, each conversation along its first branch."""
    speakers = {"prompter": "user", "assistant": "assistant"}
    for line in (MORE / "chat-tree" / "openassistant-en-100-tree.jsonl").read_text().splitlines():
        node = json.loads(line)["prompt"]
        said = []
        while node is not None:
            said.append((speakers[node["role"]], node["text"]))
            node = next(iter(node["replies"]), None)
        yield said[: len(said) // 2 * 2]


def _of_travellers() -> Iterator[list[Said]]:
    speakers = {"usr": "user", "sys": "assistant"}
    for chat in json.loads((MORE / "chat-crosswoz" / "crosswoz-val-first12.json").read_text()).values():
        yield [(speakers[message["role"]], message["content"]) for message in chat["messages"]]


def _joined(chats: Sequence[list[Said]], number: int, least: int) -> list[Said]:
    """Concatenate short chats until they are long enough, starting at a different one for each number."""
    said: list[Said] = []
    start = number * len(chats) // CHATS
    for chat in (*chats[start:], *chats[:start]):
        if sum(len(text) for _, text in said) >= least:
            break
        said += chat
    return _in_turns(said)


def _in_turns(said: Sequence[Said]) -> list[Said]:
    """Merge consecutive messages of one speaker, as the APIs require; the user begins."""
    merged: list[Said] = []
    for speaker, text in said:
        if merged and merged[-1][0] == speaker:
            merged[-1] = (speaker, f"{merged[-1][1]}\n{text}")
        elif merged or speaker == "user":
            merged.append((speaker, text))
    return merged


def fillers() -> Iterator[tuple[str, list[Said]]]:
    """Yield chats to plant into, each with its kind."""
    yield from (("made up", _made_up(number)) for number in range(CHATS))
    if MORE.is_dir():
        recorded = (
            ("assistants", _of_trees, LEAST_CHARACTERS),
            ("travellers, zh", _of_travellers, 10_000),
        )
        for kind, read, least in recorded:
            chats = list(read())
            yield from ((kind, _joined(chats, number, least)) for number in range(CHATS))


# ------------------------------------------------------------------------------------------------------------ planting


def planted(kind: str, said: Sequence[Said], sentences: Sequence[Planted], seed: int) -> Chat:
    """Plant sentences into the first nine tenths of a chat, but not into its first message."""
    random = Random(seed)
    chosen = [sentences[(seed * PER_CHAT + number) % len(sentences)] for number in range(PER_CHAT)]
    by_place: dict[int, list[tuple[Planted, str]]] = defaultdict(list)
    last = max(3, len(said) * 9 // 10)
    for each in chosen:
        first, second = sorted(random.sample(range(1, last), 2))
        if each.replaces:
            by_place[first].append((each, each.replaces))
        by_place[second].append((each, each.text))
    found: list[Said] = []
    for place, (speaker, text) in enumerate(said):
        for number, (each, sentence) in enumerate(by_place[place]):
            if number % 2 == 0 and each.speaker == speaker:
                text = _inside(text, sentence, random)
            else:
                others = {"user": "Tell me more.", "assistant": "Of course."}
                found.append((each.speaker, sentence))
                found.append(next((who, words) for who, words in others.items() if who != each.speaker))
        found.append((speaker, text))
    return Chat(kind, _in_turns(found), chosen)


def _inside(text: str, sentence: str, random: Random) -> str:
    """Insert a sentence after one of the text's own."""
    ends = [place + 2 for place in range(len(text) - 2) if text[place : place + 2] in (". ", "? ", "! ")]
    ends += [place + 1 for place, character in enumerate(text) if character in "。？！"]
    if not ends:
        return f"{text}\n{sentence}"
    end = random.choice(ends)
    return f"{text[:end]}{sentence} {text[end:]}"


# ----------------------------------------------------------------------------------------------------------- measuring


class Row(Struct):
    """Sentences that survived one way at one budget, by kind, chat and language."""

    way: str
    budget: float | None
    sizes: list[float] = []
    survived: dict[str, list[bool]] = {}
    lost: list[str] = []

    def share(self, name: str) -> str:
        found = self.survived.get(name, [])
        return f"{100 * sum(found) / len(found):.0f}" if found else "-"


def measure(row: Row, way: Way, chat: Chat) -> None:
    messages = [{"role": speaker, "content": text} for speaker, text in chat.said]
    transcript = api.loads(messages, format="openai-chat")
    count = Counter.of(transcript)
    case = Case(transcript, Questions(transcript.messages, (), TextReader()), count, 1.0)
    if row.budget and way.to_target:
        kept = way.to_target(case, int(row.budget * case.tokens))
    else:
        kept = way.as_is[0][1](case)
    row.sizes.append(case.size_of(kept) / case.tokens)
    text = _text(kept)
    for each in chat.asked:
        stands = " ".join(each.text.split()) in text
        spoken = "English" if each.language == "en" else "other languages"
        for name in ("all", f"{each.speaker}'s", *_finer(each, chat, spoken)):
            row.survived.setdefault(name, []).append(stands)
        if not stands:
            row.lost.append(f"{chat.kind}: {each.text}")


def _finer(each: Planted, chat: Chat, spoken: str) -> list[str]:
    """Return further categories for the user's sentences."""
    return [f"{each.kind}s", spoken, chat.kind] if each.speaker == "user" else []


def _text(messages: Sequence[Message]) -> str:
    return " ".join(" ".join(block.text.split()) for message in messages for block in message.blocks)


def users_share(chat: Chat) -> float:
    messages = api.loads([{"role": speaker, "content": text} for speaker, text in chat.said], format="openai-chat")
    count = Counter.of(messages)
    sizes = [(message.role, count.message(message)) for message in messages.messages]
    return sum(size for role, size in sizes if role is Role.USER) / sum(size for _, size in sizes)


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--set", choices=SETS, default="held-out", help="which sentences are planted")
    parser.add_argument("--presets", nargs="*", default=PRESETS, metavar="NAME")
    parser.add_argument("--against", nargs="*", default=[*KNOWN_WAYS], choices=KNOWN_WAYS, metavar="NAME")
    parser.add_argument("--budgets", nargs="*", type=float, default=BUDGETS, metavar="SHARE")
    parser.add_argument("--chats", nargs="*", metavar="KIND", help="kinds of chats, such as 'made up'")
    parser.add_argument("--limit", type=int, default=CHATS, metavar="N", help="so many chats of each kind")
    parser.add_argument("--lost", action="store_true", help="print what is lost, for the fitted set only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options = parser.parse_args(arguments)
    chats = [
        planted(kind, said, SETS[options.set], seed)
        for seed, (kind, said) in enumerate(fillers())
        if (not options.chats or kind in options.chats) and seed % CHATS < options.limit
    ]
    kinds = dict.fromkeys(chat.kind for chat in chats)
    for kind in kinds:
        shares = [users_share(chat) for chat in chats if chat.kind == kind]
        print(f"{kind}: {len(shares)} chats, the user's words {100 * sum(shares) / len(shares):.0f}%")
    ways = [configured(name, load_preset(name)) for name in options.presets]
    ways += [KNOWN_WAYS[name] for name in options.against]
    rows = [Row(way.name, budget) for way in ways for budget in options.budgets]
    rows += [Row(way.name, None) for way in ways if way.as_is]
    for row in rows:
        (way,) = (way for way in ways if way.name == row.way)
        for chat in chats:
            measure(row, way, chat)
    names = list(dict.fromkeys(name for row in rows for name in row.survived))
    print(f"\n| {options.set} | to | size | {' | '.join(names)} |")
    print("| --- | ---: | ---: |" + " ---: |" * len(names))
    for row in rows:
        size = 100 * sum(row.sizes) / len(row.sizes)
        to = f"{row.budget:.0%}" if row.budget else "-"
        print(f"| {row.way} | {to} | {size:.0f} | {' | '.join(map(row.share, names))} |")
        if options.lost and options.set == "fitted":
            print("\n".join(f"    {lost}" for lost in row.lost))
    if options.json:
        options.json.write_bytes(msgspec.json.encode(rows))
    return rows


if __name__ == "__main__":
    main()
