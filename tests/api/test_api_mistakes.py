"""First mistakes in Python: each is an error of this package that says what to do instead."""

from typing import Any

import pytest
from build import anthropic, conversation

import condense_cli
from condense_cli.config.loading import load_preset
from condense_cli.errors import CondenseError, UsageError

TALK = anthropic(*conversation(9))
WAYS = {"lossless": load_preset("lossless"), "speed": load_preset("speed")}


@pytest.mark.parametrize("tokens", ["4k", "4,000", 4_000])
def test_the_tokens_of_a_recap_may_be_a_text(tokens: int | str) -> None:
    assert condense_cli.recap(TALK, tokens=tokens).budget == 4_000


@pytest.mark.parametrize(
    ("keys", "hint"),
    [
        ({"target_percent": 50}, "Give overrides=overrides_from(target_percent=50)."),
        ({"keep": ["tool:Read"]}, "Give overrides=overrides_from(keep=['tool:Read'])."),
        ({"cut": ["{3}"]}, "Give overrides=overrides_from(cut=['{3}'])."),
        ({"lossless_only": True}, "Give overrides=overrides_from(lossless_only=True)."),
        ({"prest": "speed"}, "Did you mean preset?"),
    ],
)
def test_a_flag_of_a_run_is_told_where_it_belongs(keys: dict[str, Any], hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        condense_cli.condense(TALK, **keys)
    assert caught.value.hint == hint


@pytest.mark.parametrize("share", [70, 1, 0, -0.5])
@pytest.mark.parametrize("name", ["budgets", "cuts"])
def test_what_is_no_share_is_refused(name: str, share: float) -> None:
    keys: dict[str, Any] = {name: [share]}
    with pytest.raises(UsageError) as caught:
        condense_cli.evaluate(TALK, presets=["speed"], **keys)
    assert caught.value.message == f"{name} cannot be [{share}]."
    assert caught.value.hint == "Give a list of shares between 0 and 1, such as [0.5, 0.3]."
    with pytest.raises(UsageError, match=name):
        condense_cli.compare([TALK], WAYS, **keys)


@pytest.mark.parametrize(
    ("transcripts", "ways", "keys"),
    [
        (TALK, WAYS, {}),
        (["a.jsonl"], WAYS, {}),
        ([TALK], {}, {}),
        ([TALK], ["speed"], {}),
        ([TALK], {"speed": "speed"}, {}),
        ([TALK], WAYS, {"witnesses": ["nonsense"]}),
        ([TALK], WAYS, {"summarizers": {"speed": len}}),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_hint(transcripts: Any, ways: Any, keys: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        condense_cli.compare(transcripts, ways, **keys)
    assert caught.value.hint


def test_a_selector_that_matches_nothing_is_warned_of_once() -> None:
    flags = condense_cli.overrides_from(keep=["tool:Raed"], cut=["99"])
    assert condense_cli.condense(TALK, preset="speed", overrides=flags).warnings == (
        "--keep tool:Raed matches nothing; did you mean tool:Read?",
        f"--cut 99 matches nothing; the last message is {len(TALK.messages) - 1}.",
    )
    found = condense_cli.condense(TALK, {"preset": "speed", "keep": ["tool:Raed"]})
    assert found.warnings == ("keep: tool:Raed matches nothing; did you mean tool:Read?",)
    assert condense_cli.condense(TALK, {"preset": "speed", "keep": ["tool:Read"]}).warnings == ()


def test_messages_of_langchain_are_told_how_to_be_read() -> None:
    base = type("BaseMessage", (), {"__module__": "langchain_core.messages.base", "model_dump": lambda self, **_: {}})
    with pytest.raises(CondenseError) as caught:
        condense_cli.loads([type("HumanMessage", (base,), {})()])
    assert caught.value.message == "A message is a HumanMessage of LangChain."
    assert caught.value.hint == (
        "Use loads(convert_to_openai_messages(messages)), and convert_to_messages(dump_messages(result)) after."
    )
