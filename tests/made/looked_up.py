"""A session that looks something up and names it later: what of it has to stand is known."""

from build import anthropic, assistant, read_turn, user

from condense_cli.core.transcript import Transcript

READS = 4


def shown(number: int) -> str:
    """A file of 41 lines: the first names one fact, the one in the middle another."""
    filler = [f"and this is line {'abcdefghijklmnopqrst'[line]} of so many words" for line in range(20)]
    return "\n".join([f"first_{number}", *filler[:19], f"middle_{number}", *filler])


def work(first: int = 0) -> Transcript:
    """A request and four reads; then, from the cut at half on, an assistant that names what the files said.

    The files are numbered from `first` on.
    """
    numbers = range(first, first + READS)
    before = [message for number in numbers for message in read_turn(f"t{number}", f"f{number}", shown(number))]
    after = []
    for number in numbers:
        after += [assistant(f"It is first_{number}, and also middle_{number}."), user("Go on.")]
    return anthropic(user("Look, please."), *before, *after, assistant("Done."))
