"""Enumerations whose members are looked up for every block."""

import pytest

from condense_cli.core.values import BlockKind, ContentType, Role
from condense_cli.passes.receipts import Kept


@pytest.mark.parametrize("kind", [BlockKind, ContentType, Role, Kept])
def test_members_are_plain_attributes_and_stay_members(kind: type[BlockKind]) -> None:
    for name, member in kind.__members__.items():
        assert vars(kind)[name] is member
        assert kind(member.value) is kind[name] is member
        assert member.name == name
    assert [*kind] == [*kind.__members__.values()]
    with pytest.raises(AttributeError):
        setattr(kind, next(iter(kind.__members__)), "another")
