"""A client of a model that answers as a test says, and requests to fulfil with it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from model_server import INPUT, OUTPUT

from condense_cli.config.profiles import Access, PriceOverride, Profile
from condense_cli.llm.budget import Spent
from condense_cli.llm.calls import Caller, Fulfilment, fulfil
from condense_cli.llm.client import Answer, CallError, Cause, ModelRequest, failure
from condense_cli.money.economics import CallUsage

PRICE = PriceOverride(input=Decimal(1), output=Decimal(10))
EACH = Spent(1, INPUT + OUTPUT, Decimal("0.0012"))


def words(text: str) -> int:
    return len(text.split())


WHEN = datetime(2026, 6, 1, tzinfo=UTC)


def request(name: object, limit: int = 100, replaced: int | None = None) -> ModelRequest:
    return ModelRequest("Shorten it.", f"text {name}", limit, replaced)


def profile(**changes: Any) -> Profile:
    given: dict[str, Any] = {
        "api": "anthropic",
        "model": "some-model",
        "base_url": "http://127.0.0.1:1",
        "context_window": 50_000,
        "price": PRICE,
        "max_retries": 0,
        "timeout_seconds": 5,
    }
    return Profile(**{**given, **changes})


def caller(access_profile: Profile | None = None, **changes: Any) -> Caller:
    return Caller(Access("test", access_profile or profile(), "k1"), words, WHEN, exact=True, **changes)


Reply = Callable[[ModelRequest], Answer]


class Fake:
    """A client that answers as a test says."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[str] = []
        self.is_closed = False

    def call(self, request: ModelRequest) -> Answer:
        self.asked.append(request.prompt)
        return self.reply(request)

    def close(self) -> None:
        self.is_closed = True


def echo(request: ModelRequest) -> Answer:
    return Answer(f"summary of {request.prompt}", CallUsage(INPUT, OUTPUT))


def failing(reason: Cause, usage: CallUsage | None = None) -> Reply:
    def reply(request: ModelRequest) -> Answer:
        raise CallError(failure(reason), usage)

    return reply


def run(requests: Sequence[ModelRequest], reply: Reply = echo, **changes: Any) -> tuple[Fulfilment, Fake]:
    fake = Fake(reply)
    done = fulfil(requests, caller(**changes, opened=lambda access: fake))
    return done, fake


def reasons(done: Fulfilment) -> list[Cause | None]:
    return [outcome.failure.reason if outcome.failure else None for outcome in done.outcomes]
