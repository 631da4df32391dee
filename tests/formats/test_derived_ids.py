"""Derived ids: the same texts give the same id, on every machine and in every version."""

import uuid

from condense_cli.formats.engine.base import derived_uuid


def test_ids_are_what_they_always_were() -> None:
    assert derived_uuid("a", "b") == "6fd6d1a1-742c-5dde-9ee4-f6bea2a5162b"
    assert uuid.UUID(derived_uuid("a", "b")).version == 5


def test_texts_are_told_apart_where_they_end() -> None:
    assert len({derived_uuid("ab", "c"), derived_uuid("a", "bc"), derived_uuid("abc"), derived_uuid("abc", "")}) == 4


def test_half_a_character_has_an_id() -> None:
    assert derived_uuid("\ud800") != derived_uuid("\ud801")
