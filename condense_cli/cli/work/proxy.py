"""`condense proxy`: condense a conversation on its way from a client to its API."""

from __future__ import annotations

import gc
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

from msgspec.structs import replace

from ...core.user_folders import cache_folder
from ...core.wording import count_in, quoted
from ...errors import ConfigurationError
from ...live.conversation import KEEP_RECENT, Live
from ...live.state import Memory, State, StateFile
from ...proxy.bodies import check_other, check_upstream
from ...proxy.clients import started
from ...proxy.record import Record, summary
from ...storage.extras import missing
from ..commands.session import PORT, ProxyOptions
from ..console import say
from ..foreground import run_in_foreground

try:
    from ...proxy import app
    from ...proxy.app import Proxy, ProxySettings
except ModuleNotFoundError as error:
    raise missing(f"The proxy needs the package {error.name}", "proxy") from None

_WITHOUT_REQUEST: Final = 15.0
"""Seconds without any request after which a client may be going past the proxy."""


def proxy(options: ProxyOptions) -> None:
    """Serve until the client ends, or until interrupted. Raises CondenseError."""
    gc.enable()  # It runs for days.
    upstream, client, host = options.upstream, options.client, options.host
    if upstream is not None:
        upstream = check_upstream(upstream)
    compact, compact_tokens = _compacting(options, os.environ)
    Live(preset=options.preset, policy=options.policy)  # Errors are told before anything is started.
    if host not in app.LOOPBACK:
        say(f"Warning: whoever reaches {host} can send requests through this proxy; keys are the sender's own.")
    default = 0 if client else PORT
    listener = app.listening(host, default if options.port is None else options.port)
    with closing(listener):
        address = app.address_of(listener, host)
        settings = ProxySettings(
            token=secrets.token_urlsafe(16),
            hosts=app.names_of(address),
            is_local=host in app.LOOPBACK,
            upstream=upstream,
            preset=options.preset,
            policy=options.policy,
            keep_recent=options.keep_recent or KEEP_RECENT,
            window=options.context_window,
            watches=options.watch,
            compact=compact,
            compact_tokens=compact_tokens,
        )
        check_other(upstream, settings.hosts)
        # What is only watched need not survive a restart.
        memory: State = Memory() if options.watch else StateFile(options.state or Path(cache_folder()) / "live.db")
        if client:
            is_first_party = not options.no_first_party
            raise SystemExit(_with_client(client, settings, memory, listener, address, first_party=is_first_party))
        _alone(settings, memory, listener, address)


def _compacting(options: ProxyOptions, environment: Mapping[str, str]) -> tuple[Literal["client", "own"], int | None]:
    """Return who answers compactions, and in how many tokens. Raises ConfigurationError for a bad variable."""
    named, size = (environment.get(name, "").strip() for name in ("CONDENSE_COMPACT", "CONDENSE_COMPACT_TOKENS"))
    tokens = count_in(size)
    if named not in ("", "client", "own"):
        raise ConfigurationError(f"CONDENSE_COMPACT cannot be {quoted(named)}.", "Set it to client or own.")
    if size and not tokens:
        raise ConfigurationError(f"CONDENSE_COMPACT_TOKENS cannot be {quoted(size)}.", "Write 10000 or 10k.")
    return options.compact or ("own" if named == "own" else "client"), options.compact_tokens or tokens


def _who_compacts(settings: ProxySettings, *, keeps_proxy: bool = False) -> str:
    if settings.compact == "own" and not settings.watches:
        needs = " A session that was answered needs the proxy from then on." if keeps_proxy else ""
        return f"Compactions are answered here, without a model; --compact client leaves them to it.{needs}"
    return "Compactions go to the model; --compact own answers those of Claude Code and Codex at once, without one."


def _alone(settings: ProxySettings, memory: State, listener: Any, address: str) -> None:
    """Serve until interrupted."""
    record = Record(lambda line: say(f"{time.strftime('%H:%M:%S')} {line}"))
    say(f"Listening on {address} for clients of {settings.upstream or 'Anthropic, OpenAI and Google'}; Ctrl-C stops.")
    say(f"What it does: {address}/condense?token={settings.token}")
    say(_who_compacts(settings))
    proxy = Proxy(settings, memory, record)
    with suppress(KeyboardInterrupt):  # It is how one ends it.
        app.serve(proxy, listener)
    say(f"condense: {summary(record, proxy.conversations.number, watches=settings.watches)}.")


def _with_client(
    client: Sequence[str], settings: ProxySettings, memory: State, listener: Any, address: str, *, first_party: bool
) -> int:
    """Run the client behind the proxy and return its exit status."""
    with TemporaryDirectory(prefix="condense-") as folder:
        home, named = Path(os.path.expanduser("~")), settings.upstream
        word = f"condense-{secrets.token_hex(16)}" if settings.compact == "own" and not settings.watches else ""
        found = started(
            [*client], address, os.environ, home, Path(folder), upstream=named, first_party=first_party, word=word
        )
        settings = replace(settings, word=found.led.word)
        upstream = named or found.led.upstream
        for url in (upstream, *found.vendors.values()):
            check_other(url, settings.hosts)
        proxy = Proxy(replace(settings, upstream=upstream, vendors=found.vendors), memory, Record())
        for note in found.led.notes:
            say(f"condense: {note}")
        if found.led.asks_to_compact:
            say(f"condense: {_who_compacts(settings, keeps_proxy=found.led.keeps_proxy)}")
        doubt = Doubt(Path(client[0]).name, proxy.is_reached)
        if not (found.led.notes or found.led.is_led):
            doubt.begin()
        with app.served(proxy, listener):
            status = run_in_foreground(found.command, environment=found.environment)
        doubt.end()
    say(f"condense: {summary(proxy.record, proxy.conversations.number, watches=settings.watches)}.")
    if not (proxy.record.sums.requests or proxy.record.compactions or found.led.notes):
        doubt.tell()
    return status


class Doubt:
    """Warns once if a client seems to bypass the proxy: while it runs, or at its end."""

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
        """Print the warning, unless it was printed."""
        if self._is_told:
            return
        self._is_told = True
        fixed = f"http://127.0.0.1:{PORT}"
        say(
            f"condense: No conversation has come from {self._client}. If it asked a model, that went past this proxy: "
            f"start it with --port {PORT}, and set its base URL to {fixed} (Anthropic) or {fixed}/v1 (OpenAI)."
        )

    def _wait(self) -> None:
        if not self._is_settled.wait(_WITHOUT_REQUEST) and not is_full_screen():
            self.tell()


def is_full_screen(terminal: int = 2) -> bool:
    """Whether a client draws on the terminal that shows messages: it reads single keys then."""
    try:
        import termios
    except ImportError:
        return False
    try:
        return not termios.tcgetattr(terminal)[3] & termios.ICANON
    except termios.error:  # No terminal.
        return False
