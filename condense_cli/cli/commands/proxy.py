"""`condense proxy`: condense a conversation on its way from a client to its API."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ...clients.choices import cache_folder
from ...errors import UsageError
from ..console import exits, say
from ..grouped import grouped
from ..options import preset_option
from ..running.options import ContextWindow

if TYPE_CHECKING:
    from ...live.state import State
    from ...proxy.clients import Started
    from ...proxy.settings import ProxySettings

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense proxy -- claude             starts Claude Code behind a proxy\n"
    "condense proxy -- codex resume --last\n"
    "condense proxy --watch -- claude     changes nothing, reports savings\n"
    "condense proxy -- python agent.py    anything that uses an SDK\n"
    "condense proxy --port 8788           for clients you start yourself\n"
    "condense proxy --upstream https://openrouter.ai/api/v1"
)

_PORT = 8788
_WITHOUT_REQUEST = 15.0
"""Seconds without any request after which a client may go past the proxy."""


class Listening(NamedTuple):
    """Where the proxy listens."""

    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help=f"Listen there.  [default: {_PORT}, or a free one for a client]",
        ),
    ] = None
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; others than the default can be reached from outside.",
        ),
    ] = "127.0.0.1"


@grouped
def proxy(
    client: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- CLIENT...]", help="A client to start through the proxy, with its arguments."),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option("--upstream", metavar="URL", help="Address of the API.  [default: the one the client uses]"),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Change nothing; report what would be saved.")] = False,
    preset: Annotated[
        str | None, preset_option(help="Preset to condense with.  [default: balanced, which cuts more per step here]")
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy", metavar="NAME", help="When to condense: economic, economic:20, tokens:60000 or share:0.6."
        ),
    ] = "economic",
    keep_recent: Annotated[
        int | None, typer.Option("--keep-recent", metavar="N", min=1, help="Leave the last N turns untouched.")
    ] = None,
    context_window: ContextWindow = None,
    no_first_party: Annotated[
        bool,
        typer.Option(
            "--no-first-party", help="Do not tell Claude Code that it talks to Anthropic's own API, where it does."
        ),
    ] = False,
    *,
    where: Listening,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="File that remembers cut points and times.  [default: in your cache folder]",
        ),
    ] = None,
) -> None:
    """Condense conversations on their way to an API.

    Only the messages of a request are changed; everything else, and every answer, passes through untouched. What was
    sent once is sent again byte for byte, so the provider's cache keeps working. Keys and content are neither stored
    nor logged. The header x-condense: off lets a request through as it is. With a client, the exit status is the
    client's.
    """
    with exits():
        gc.enable()  # It runs for days.
        try:
            from ...proxy import server
        except ModuleNotFoundError as error:
            raise UsageError(
                f"The proxy needs the package {error.name}, which is not installed.",
                "pip install 'condense-cli[proxy]'",
            ) from None
        import secrets

        from ...live.conversation import KEEP_RECENT, Live
        from ...proxy.apis import check_other, check_upstream
        from ...proxy.settings import ProxySettings

        if upstream is not None:
            upstream = check_upstream(upstream)
        Live(preset=preset, policy=policy)  # What cannot be is said before anything is started.
        host = where.host
        if host not in server.LOOPBACK:
            say(f"Warning: whoever reaches {host} can send requests through this proxy; keys are the sender's own.")
        default = 0 if client else _PORT
        listener = server.listening(host, default if where.port is None else where.port)
        with closing(listener):
            address = server.address_of(listener, host)
            settings = ProxySettings(
                token=secrets.token_urlsafe(16),
                hosts=server.names_of(address),
                is_local=host in server.LOOPBACK,
                upstream=upstream,
                preset=preset,
                policy=policy,
                keep_recent=keep_recent or KEEP_RECENT,
                window=context_window,
                watches=watch,
            )
            check_other(upstream, settings.hosts)
            memory = _state(state, watches=watch)
            if client:
                raise SystemExit(
                    _with_client(client, settings, memory, listener, address, first_party=not no_first_party)
                )
            _alone(settings, memory, listener, address)


def _state(path: Path | None, *, watches: bool) -> State:
    """What survives a restart; what is only watched does not."""
    from ...live.state import Memory, StateFile

    return Memory() if watches else StateFile(path or cache_folder() / "live.db")


def _alone(settings: ProxySettings, memory: State, listener: Any, address: str) -> None:
    """Until it is told to stop."""
    from ...proxy.app import Proxy
    from ...proxy.record import Record, summary
    from ...proxy.server import serve

    record = Record(lambda line: say(f"{time.strftime('%H:%M:%S')} {line}"))
    say(f"Listening on {address} for clients of {settings.upstream or 'Anthropic and OpenAI'}; Ctrl-C stops.")
    say(f"What it does: {address}/condense?token={settings.token}")
    proxy = Proxy(settings, memory, record)
    with suppress(KeyboardInterrupt):  # It is how one ends it.
        serve(proxy, listener)
    say(f"condense: {summary(record, proxy.conversations.number, watches=settings.watches)}.")


def _with_client(
    client: list[str], settings: ProxySettings, memory: State, listener: Any, address: str, *, first_party: bool
) -> int:
    """The client's exit status, once it has ended."""
    from msgspec.structs import replace

    from ...proxy.apis import check_other
    from ...proxy.app import Proxy
    from ...proxy.clients import started
    from ...proxy.record import Record, summary
    from ...proxy.server import served

    with TemporaryDirectory(prefix="condense-") as folder:
        home, named = Path(os.path.expanduser("~")), settings.upstream
        found = started(client, address, os.environ, home, Path(folder), upstream=named, first_party=first_party)
        upstream = named or found.upstream
        for url in (upstream, *found.vendors.values()):
            check_other(url, settings.hosts)
        proxy = Proxy(replace(settings, upstream=upstream, vendors=found.vendors), memory, Record())
        for note in found.notes:
            say(f"condense: {note}")
        doubt = Doubt(Path(client[0]).name, proxy.is_reached)
        if not (found.notes or found.is_led):
            doubt.begin()
        with served(proxy, listener):
            status = _run(found)
        doubt.end()
    say(f"condense: {summary(proxy.record, proxy.conversations.number, watches=settings.watches)}.")
    if not proxy.record.sums.requests and not found.notes:
        doubt.tell()
    return status


class Doubt:
    """Whether a client goes past the proxy: said once, while it runs or in the end."""

    def __init__(self, client: str, is_settled: threading.Event) -> None:
        self._client, self._is_settled = client, is_settled
        self._is_told = False
        self._waiting = threading.Thread(target=self._wait, daemon=True)

    def begin(self) -> None:
        """Wait beside the client for its first request."""
        self._waiting.start()

    def end(self) -> None:
        """Wait no longer: the client has ended."""
        self._is_settled.set()
        if self._waiting.is_alive():
            self._waiting.join()

    def tell(self) -> None:
        """Say what to check, unless that has been said."""
        if self._is_told:
            return
        self._is_told = True
        fixed = f"http://127.0.0.1:{_PORT}"
        say(
            f"condense: No conversation has come from {self._client}. If it asked a model, that went past this proxy: "
            f"start it with --port {_PORT}, and set its base URL to {fixed} (Anthropic) or {fixed}/v1 (OpenAI)."
        )

    def _wait(self) -> None:
        if not self._is_settled.wait(_WITHOUT_REQUEST) and not is_full_screen():
            self.tell()


def is_full_screen(terminal: int = 2) -> bool:
    """Whether messages go to a terminal on which the client draws: it reads single keys there then."""
    try:
        import termios
    except ImportError:
        return False
    try:
        return not termios.tcgetattr(terminal)[3] & termios.ICANON
    except termios.error:  # No terminal.
        return False


def _run(client: Started) -> int:
    """Run a client in the foreground; signals are for it. Raises UsageError where it cannot be started."""
    try:
        process = subprocess.Popen(client.command, env=client.environment)
    except OSError as error:
        raise UsageError(f"Cannot start {client.command[0]} ({error.strerror}).") from None
    # The terminal sends Ctrl-C to both; what is sent to this process alone is passed on.
    before = (
        signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
    )
    try:
        status = process.wait()
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status
