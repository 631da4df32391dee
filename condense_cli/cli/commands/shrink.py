"""Commands that make a conversation smaller: run, restore, undo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from ...config.options import COMMON, OUTPUT, REMOVING, Flag, Overrides
from ..building import Command
from ..options import (
    COUNTING,
    TARGETS,
    Above,
    Configuring,
    ContextWindow,
    CountAs,
    CounterOption,
    DryRun,
    File,
    FormatOption,
    Lenient,
    Model,
    MustKeep,
    OverheadTokens,
    Profile,
    Quiet,
    Session,
    Spending,
    Threshold,
)

MORE_OUTPUT: Final = "More output"
READING_AND_WRITING: Final = "Reading and writing"


class Showing(Command, group=OUTPUT):
    """The reports of a run. `log_json` is a line on standard error, in place of other messages there."""

    diff: Annotated[bool, Flag("Show every cut, line by line.")] = False
    explain: Annotated[bool, Flag("Say why each block was cut or kept.")] = False
    html: Annotated[Path | None, Flag("Write a page with every message, every cut, and why.", metavar="FILE")] = None
    cost: Annotated[
        bool, Flag("Show costs and when condensing pays, in pipes too, with the assumptions.", group=MORE_OUTPUT)
    ] = False
    json: Annotated[bool, Flag("Print the report as JSON.")] = False
    report: Annotated[Path | None, Flag("Also write the JSON report to FILE.", metavar="FILE", group=MORE_OUTPUT)] = (
        None
    )
    quiet: Quiet = False
    verbose: Annotated[
        bool, Flag("Show everything: diff, sizes, passes, timings, costs.", short="-v", group=MORE_OUTPUT)
    ] = False
    log_json: Annotated[
        bool, Flag("One line of JSON about the run on standard error, in place of messages.", group=MORE_OUTPUT)
    ] = False

    @property
    def writes_report(self) -> bool:
        """Whether a JSON report is asked for, on standard output or in a file."""
        return self.json or self.report is not None

    @property
    def is_silent(self) -> bool:
        return self.quiet and not (self.writes_report or self.log_json or self.html is not None)


class Writing(Command, group=READING_AND_WRITING):
    """The place a run writes to."""

    output: Annotated[
        str | None, Flag("Write the condensed transcript there.", metavar="FILE|-", short="-o", group=COMMON)
    ] = None
    new_session: Annotated[
        bool, Flag("Write a smaller copy that the client can resume, next to FILE.", group=COMMON)
    ] = False
    resume: Annotated[bool, Flag("With --new-session: resume it in its client.")] = False
    in_place: Annotated[bool, Flag("Replace FILE, keeping a backup next to it.", group=COMMON)] = False
    to_format: Annotated[
        str | None,
        Flag(
            "Write messages of this API instead: anthropic, openai-chat or openai-responses.",
            metavar="NAME",
            name="--to",
            complete=TARGETS,
        ),
    ] = None
    dry_run: Annotated[DryRun, COMMON] = False
    force: Annotated[bool, Flag("With --in-place: even if a program has FILE open.")] = False
    out_dir: Annotated[Path | None, Flag("Write all files there, keeping their folders.", metavar="DIR")] = None
    jobs: Annotated[
        int | None,
        Flag("Parallel processes for rows or many files.  [default: all]", metavar="N", short="-j", least=1),
    ] = None
    engine: Annotated[Literal["local", "ray"], Flag("What runs --out-dir: local processes or Ray.")] = "local"


class RunOptions(Configuring, Overrides, Showing, Writing, Spending, group=COMMON, work="run.run"):
    """Condense a transcript.

    On a terminal this shows what would be cut, why, and what that saves in tokens and money. In a pipe, the condensed
    transcript goes to standard output, and one line about it to standard error. FILE is changed only by --in-place;
    condense undo reverts it. Several files or folders go to --out-dir; the same command again goes on where it stopped.

    Examples:

    \b
    condense run session.jsonl                  what would be cut, and why
    condense run session.jsonl --target-tokens 60000 -o small.jsonl
    condense run session.jsonl --new-session    a copy, and how to resume it
    condense run --session latest --new-session --resume
    condense run session.jsonl --in-place       condense undo reverts it
    condense run session.jsonl --keep last:20 --keep 'tool:mcp__*' --keep /TODO/
    cat session.jsonl | condense run - | next-program
    condense run session.jsonl --html page.html every message, every cut, and why

    More examples:

    \b
    condense run session.jsonl --preset lossless -o small.jsonl
    condense run session.jsonl --before-compaction --new-session   undoes /compact
    condense run session.jsonl --lossless-only -o small.jsonl
    condense run session.jsonl --cut 40:80 --keep 'file:src/*.py'
    condense run --session latest               the newest session of this project
    condense run session.jsonl --profile gpt-4o-mini -o small.jsonl
    condense run session.jsonl --if-needed --in-place   only when nearly full
    condense run session.jsonl --json | jq .tokens.saved_percent
    condense run rows.jsonl.gz -o small.jsonl.gz     a set of conversations
    condense run sessions/ extra.jsonl --out-dir small -j 4
    """

    files: Annotated[
        tuple[str, ...],
        Flag("Transcripts or folders; - reads standard input.", metavar="[FILE]...", is_argument=True),
    ] = ()
    session: Session = None
    must_keep: MustKeep = ()
    format: Annotated[FormatOption, READING_AND_WRITING] = None
    lenient: Annotated[Lenient, READING_AND_WRITING] = False
    before_compaction: Annotated[
        bool,
        Flag("Take the session as it was before the client's last compaction.", group=READING_AND_WRITING),
    ] = False
    until: Annotated[
        str | None,
        Flag(
            "Take the session as it was before the last prompt that has these words.",
            metavar="WORDS",
            group=READING_AND_WRITING,
        ),
    ] = None
    split: Annotated[
        bool,
        Flag(
            "Rows only: split longer conversations into several of at most --target-tokens.", group=READING_AND_WRITING
        ),
    ] = False
    slim: Annotated[
        bool,
        Flag(
            "Also remove what only the client displays and the model never sees; "
            "condense restore cannot bring it back.",
            group=REMOVING,
        ),
    ] = False
    if_needed: Annotated[
        bool,
        Flag("Condense only if condense check says yes; otherwise pass the input through.", group="Conditions"),
    ] = False
    threshold: Annotated[Threshold, "Conditions"] = None
    above: Annotated[Above, "Conditions"] = None
    strict: Annotated[
        bool, Flag("Exit with status 4 if the target is missed; the result is still written.", group="Conditions")
    ] = False
    allow_partial: Annotated[bool, Flag("Exit with status 0 even if some summaries failed.", group="Conditions")] = (
        False
    )
    model: Annotated[Model, COUNTING] = None
    context_window: Annotated[ContextWindow, COUNTING] = None
    overhead_tokens: Annotated[OverheadTokens, COUNTING] = None
    counter: Annotated[CounterOption, COUNTING] = None
    count_as: Annotated[CountAs, COUNTING] = None
    profile: Profile = None

    @property
    def are_several(self) -> bool:
        """Whether they name more than one transcript."""
        return self.out_dir is not None or len(self.files) > 1 or any(Path(file).is_dir() for file in self.files)


class RestoreOptions(Command, work="restore.restore"):
    """Put back the text that references replaced.

    Every reference points to text in the same file, so the file alone is enough. Text that was cut is not in it:
    `condense show ORIGINAL HASH` prints that from the original. Exit status 3 if the lines of a reference
    were changed or removed; it is left as it is, and everything else is restored.

    Examples:

    \b
    condense restore small.jsonl -o whole.jsonl
    cat small.jsonl | condense restore - | condense diff session.jsonl -
    condense restore small.jsonl --json | jq .resolved
    """

    file: File = None
    session: Session = None
    output: Annotated[str | None, Flag("Write the restored transcript there.", metavar="FILE|-", short="-o")] = None
    json: Annotated[bool, Flag("Print the counts as JSON.")] = False
    format: FormatOption = None
    lenient: Lenient = False
    quiet: Annotated[bool, Flag("No report.", short="-q")] = False


class UndoOptions(Command, work="undo.undo"):
    """Undo what --in-place changed.

    Puts the newest backup of condense run or repair back as FILE, with its old time and permissions. If FILE has
    changed since, for example by new turns, nothing happens unless you add --force, which keeps the present FILE next
    to it with the ending .condense-undone.

    Examples:

    \b
    condense undo session.jsonl                 restores the newest backup
    condense undo session.jsonl --list          lists all backups
    condense undo session.jsonl --force         even if the session continued
    condense undo --session latest
    condense undo session.jsonl --json | jq -r .restored.name
    """

    file: Annotated[str | None, Flag("File that was replaced in place.", metavar="[FILE]", is_argument=True)] = None
    session: Session = None
    lists: Annotated[bool, Flag("List the backups; change nothing.", name="--list", short="-l")] = False
    backup: Annotated[str | None, Flag("Backup to restore.  [default: the newest]", metavar="NAME", short="-b")] = None
    force: Annotated[bool, Flag("Restore even if FILE has changed; the present FILE is kept.")] = False
    json: Annotated[bool, Flag("Print what was done, or the list, as JSON.")] = False
    quiet: Annotated[bool, Flag("Print nothing.", short="-q")] = False


COMMANDS: Final = {"run": RunOptions, "restore": RestoreOptions, "undo": UndoOptions}
