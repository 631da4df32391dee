"""Messages of a framework as blocks and back, with a framework of three keys."""

from collections.abc import Mapping, Set
from typing import Any

import pytest

from condense_cli.errors import UsageError
from condense_cli.integrations import conversations, needs
from condense_cli.integrations.conversations import (
    Block,
    FittedConversations,
    Part,
    RoleBlocks,
    call,
    convert_messages,
    fit_messages,
    result,
    text,
    thinking,
)
from condense_cli.live.conversation import KEEP_RECENT
from condense_cli.live.deciding import Fitted

Said = dict[str, Any]
"""Who, and texts by part: those of a result are a string, those of a call a dict, thoughts a list."""


class Dialect:
    def told(self, message: Said) -> RoleBlocks:
        blocks: dict[Part, Block] = {}
        for part, said in message["parts"].items():
            if isinstance(said, dict):
                blocks[part] = call(said["id"], "look", {})
            elif isinstance(said, list):
                blocks[part] = thinking(said[0], "signed")
            else:
                blocks[part] = result(message["answers"], said) if "answers" in message else text(said)
        return {message["who"]: blocks}

    def changed(self, message: Said, blocks: Mapping[Part, Block], gone: Set[Part]) -> Said:
        parts = {part: said for part, said in message["parts"].items() if part not in gone}
        return message | {
            "parts": parts | {part: block.get("content", block.get("text")) for part, block in blocks.items()}
        }

    def summary(self, text: str) -> Said:
        return {"who": "user", "parts": {0: text}}


def look(part: int) -> str:
    return "\n".join(f"line {line} of part {part}: total = prices[{line}] * {line * part}" for line in range(60))


def history(turns: int) -> list[Said]:
    said: list[Said] = [{"who": "user", "parts": {0: "Why does the total of part 3 differ?"}}]
    for turn in range(turns):
        ids = [f"c{turn}-{side}" for side in (0, 1)]
        parts = {5: ["The next ones."], **{number: {"id": id} for number, id in enumerate(ids, 7)}}
        said.append({"who": "assistant", "parts": parts})
        said += [{"who": "user", "answers": id, "parts": {0: look(turn)}} for id in ids]
    return said


def fit(live: FittedConversations, messages: list[Said], model: str = "claude-opus-4-5") -> list[Said]:
    return fit_messages(live, "one", messages, Dialect(), usage=100_000, model=model)


def test_results_are_told_in_one_message() -> None:
    told = convert_messages(history(2), Dialect())
    assert [message["role"] for message in told.sent] == ["user", "assistant", "user", "assistant", "user"]
    assert [len(message["content"]) for message in told.sent] == [1, 3, 2, 3, 2]
    back = told.back(Dialect(), told.sent)
    assert all(one is other for one, other in zip(back, told.messages, strict=True))


def test_results_change_and_all_else_is_the_same_object() -> None:
    given = history(30)
    sent = fit(FittedConversations(policy="tokens:10000"), given)
    newest = len(given) - KEEP_RECENT
    assert all(any(one is other for other in given) for one in sent[-KEEP_RECENT:])
    changed = [one for one in sent if not any(one is other for other in given)]
    results = {message["answers"]: message["parts"][0] for message in given[:newest] if "answers" in message}
    notes = [one for one in changed if "answers" not in one]
    assert all(one["parts"][0].startswith("[condense: notes on ") for one in notes)
    cut = [one for one in changed if "answers" in one]
    assert all(len(one["parts"][0]) < len(results[one["answers"]]) for one in cut)
    assert len(sent) < len(given) or len(cut) > 20


def test_thinking_goes_where_a_model_binds_it() -> None:
    given = history(30)
    live = FittedConversations(policy="tokens:10000")
    sent = fit(live, given, "claude-opus-5-5")
    assert not any(5 in message["parts"] for message in sent)
    again = fit(live, [*given, *history(1)[1:]], "claude-opus-5-5")
    assert [5 in message["parts"] for message in again if message["who"] == "assistant"].count(True) == 1


def test_what_cannot_be_told_goes_out_as_it_is() -> None:
    given = [*history(2), {"who": "user", "parts": None}]
    assert fit(FittedConversations(), given) == given


def test_conversations_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MOST", 2)
    fits: list[Fitted] = []
    live = FittedConversations(policy="tokens:10000", on_decision=fits.append)
    messages = [{"role": "user", "content": "Why?"}]
    for key in ("a", "b", "a", "c", "a"):
        live.fit(key, messages)
    live.reported("a", 5)
    assert [*live._held] == ["c", "a"]
    assert live._held["a"].usage == 5
    assert fits == []


def test_what_a_listener_raises_is_logged_and_no_reason_to_send_all(caplog: pytest.LogCaptureFixture) -> None:
    def listen(fitted: Fitted) -> None:
        raise RuntimeError("the disk is full")

    given = history(30)
    assert fit(FittedConversations(policy="tokens:10000", on_decision=listen), given) != given
    assert "on_decision raised" in caplog.text
    assert "the disk is full" in caplog.text


async def later(fitted: Fitted) -> None:
    """A listener that nobody would wait for."""


class Later:
    async def __call__(self, fitted: Fitted) -> None:
        """The same, as an object."""


@pytest.mark.parametrize("listener", [5, "print", later, Later()])
def test_a_listener_that_cannot_be_called_is_refused(listener: Any) -> None:
    with pytest.raises(UsageError, match="on_decision cannot be"):
        FittedConversations(on_decision=listener)


def test_a_missing_package_is_named() -> None:
    with (
        pytest.raises(ImportError, match=r"This needs LangChain: .*install .*langchain"),
        needs("LangChain", "langchain"),
    ):
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401
