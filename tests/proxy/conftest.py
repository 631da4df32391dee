"""An API that answers, and a proxy before it that decides as soon as it may."""

from collections.abc import Iterator

import pytest

from .talks import EAGER
from .upstream import Api, Running, api, proxied


@pytest.fixture
def model() -> Iterator[Api]:
    with api() as found:
        yield found


@pytest.fixture
def running(model: Api) -> Iterator[Running]:
    with proxied(model.url, **EAGER) as found:
        yield found
