"""Options as classes: their order, groups and values, and that flags and arguments are read from them."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import pytest

import condense_cli
from condense_cli.config.options import COMMON, OUTPUT, Flag, Options, Overrides, in_groups, options_of, tokens


class Sizes(Options, group="Sizes"):
    limit: Annotated[int | None, Flag("The limit.", metavar="N", parse=tokens)] = None
    names: Annotated[tuple[str, ...], Flag("Names.", name="--name", short="-n")] = ()


class Shown(Options, group=OUTPUT):
    brief: Annotated[bool, Flag("Say less.")] = False


class Both(Shown, Sizes, group=COMMON):
    file: Annotated[str, Flag("The file.", is_argument=True)]
    last: Annotated[bool, Flag("The last one.", group="Others")] = False
    limit: Annotated[int, Flag("Another limit."), "Others"] = 3


def test_a_class_has_its_own_options_first_and_then_those_of_its_bases() -> None:
    assert [option.name for option in options_of(Both)] == ["file", "last", "limit", "brief", "names"]


def test_the_group_is_that_of_the_flag_or_the_class() -> None:
    groups = {option.name: option.group for option in options_of(Both)}
    assert groups == {"file": COMMON, "last": "Others", "limit": "Others", "brief": OUTPUT, "names": "Sizes"}
    assert [*in_groups(options_of(Both))] == [COMMON, OUTPUT, "Others", "Sizes"]


def test_flags_are_named_by_their_field_unless_they_have_a_name() -> None:
    assert Flag("x").names("target_tokens") == ["--target-tokens"]
    assert Flag("x", name="--name", short="-n").names("names") == ["--name", "-n"]


def test_values_have_their_defaults_and_lists_become_tuples() -> None:
    options = Both(file="a", names=["x"])  # type: ignore[arg-type]
    assert (options.file, options.limit, options.names, options.brief) == ("a", 3, ("x",), False)
    assert Both(file="a", names=None).names == ()  # type: ignore[arg-type]


def test_values_are_frozen_and_compared_by_their_fields() -> None:
    one = Both(file="a")
    with pytest.raises(AttributeError, match="frozen"):
        one.file = "b"  # type: ignore[misc]
    assert one == Both(file="a") != one.replace(last=True)
    assert hash(one) == hash(Both(file="a"))
    assert one.part(Sizes) == Sizes(limit=3)


@pytest.mark.parametrize("given", [{}, {"file": "a", "size": 3}])
def test_what_is_missing_or_unknown_is_named(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="size" if given else "file"):
        Both(**given)


def test_the_arguments_of_the_api_are_the_options_that_change_a_configuration() -> None:
    arguments = inspect.signature(condense_cli.overrides_from).parameters
    assert {*arguments} == {option.name for option in options_of(Overrides)}
