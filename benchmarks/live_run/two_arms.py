"""Run an agent on tasks with and without the proxy, and compare what was solved and what was billed.

    python benchmarks/live_run/two_arms.py tasks.json --out results -- mini -y --exit-immediately -m MODEL -t {task}
    python benchmarks/live_run/two_arms.py tasks.json --out results --proxy policy=tokens:60k -- claude -p {task}

tasks.json is a list of {"name", "task", "folder", "check"}: each run gets a copy of the folder, and is solved where the
check, a command, ends there with status 0. The agent is any command that takes its API's address from
ANTHROPIC_BASE_URL or OPENAI_BASE_URL, and its key from the environment; {task} is the text of the task. Tried with
mini-swe-agent 2.4.6 (MSWEA_CONFIGURED=true, MODEL anthropic/claude-sonnet-4-5-20250929) and a scripted model. This
spends money: twice the number of tasks, times --runs.

Both arms go through the same meter on the loopback interface, which counts the usage that the API reports and changes
nothing; with the proxy, it lies behind that. Arms take turns, so that both see the API at the same time of day. Every
run is a line of results/runs.jsonl; the same command again goes on where it stopped. A summary is printed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
from msgspec import Struct, field

from condense_cli.money.economics import Accounting, CallUsage
from condense_cli.proxy.bodies import api_of, target, usual_upstream
from condense_cli.proxy.forwarding import UsageReader
from condense_cli.proxy.record import cost_of

WITHOUT, WITH = "without", "with"
ARMS: Final = (WITHOUT, WITH)
_HOP: Final = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding", "accept-encoding"})
"""Headers of one connection, and those that are written anew."""
_SECONDS: Final = 600.0


class Task(Struct, frozen=True):
    """A task: the text for the agent, a folder to work in, and a command that says whether it is solved."""

    name: str
    task: str
    folder: str
    check: list[str]


class Run(Struct, frozen=True):
    """One run of an agent. `dollars` is None if a price is not known; `unmetered` answers reported no usage."""

    task: str
    arm: str
    number: int
    solved: bool
    status: int
    seconds: float
    requests: int
    unmetered: int
    input: int
    read: int
    written: int
    output: int
    dollars: float | None


class Meter(Struct):
    """Usage that the API reported since the last reset."""

    requests: int = 0
    unmetered: int = 0
    input: int = 0
    read: int = 0
    written: int = 0
    output: int = 0
    dollars: Decimal | None = Decimal(0)
    lock: Any = field(default_factory=threading.Lock)

    def add(self, usage: CallUsage | None, accounting: Accounting, model: str | None) -> None:
        with self.lock:
            self.requests += 1
            if usage is None:
                self.unmetered += 1
                return
            total = usage.total_tokens(accounting) - usage.output_tokens
            self.input += total
            self.read += usage.cache_read_tokens
            self.written += usage.cache_write_tokens
            self.output += usage.output_tokens
            cost = cost_of(usage, accounting, model, time.time())
            self.dollars = None if cost is None or self.dollars is None else self.dollars + cost


@contextmanager
def metered(meter: Meter, upstream: str | None) -> Iterator[str]:
    """Pass requests on to their API, and count; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            headers = [(name, value) for name, value in self.headers.items() if name.lower() not in _HOP]
            api = api_of(self.command, self.path.partition("?")[0], self.headers.get("authorization", ""))
            url = target(
                upstream or usual_upstream(self.path, {key.lower(): value for key, value in headers}), self.path
            )
            with httpx.stream(self.command, url, headers=headers, content=body, timeout=_SECONDS) as answer:
                reader = UsageReader(answer.headers.get("content-type", ""), "")
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name.lower() not in {*_HOP, "content-encoding"}:
                        self.send_header(name, value)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for piece in answer.iter_bytes():
                    reader.feed(piece)
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            reader.end()
            if api is not None and answer.status_code == 200:
                meter.add(reader.usage(api.accounting), api.accounting, _model(body))

        do_GET = do_POST = handle_one  # Names of the base class.

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: addresses may hold keys."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _model(body: bytes) -> str | None:
    try:
        model = json.loads(body).get("model")
    except (ValueError, AttributeError):
        return None
    return model if isinstance(model, str) else None


def run(task: Task, arm: str, number: int, command: Sequence[str], options: argparse.Namespace) -> Run:
    """Run the agent once in a copy of the task's folder, then the check."""
    meter = Meter()
    with metered(meter, options.upstream) as address, tempfile.TemporaryDirectory(prefix="condense-run-") as name:
        folder = Path(name) / "work"
        shutil.copytree(task.folder, folder, symlinks=True)
        agent = [part.replace("{task}", task.task) for part in command]
        environment = os.environ | {"ANTHROPIC_BASE_URL": address, "OPENAI_BASE_URL": f"{address}/v1"}
        if arm == WITH:
            agent = [sys.executable, "-m", "condense_cli", "proxy", "--upstream", address, *options.proxy, "--", *agent]
        started = time.monotonic()
        with (options.out / f"{task.name}-{arm}-{number}.log").open("wb") as log:
            try:
                done = subprocess.run(
                    agent, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    timeout=options.timeout, check=False,
                )  # fmt: skip
                status = done.returncode
            except subprocess.TimeoutExpired:
                status = -1
            seconds = time.monotonic() - started
            checked = subprocess.run(
                task.check, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
            )
    dollars = None if meter.dollars is None else float(meter.dollars)
    return Run(
        task.name, arm, number, checked.returncode == 0, status, round(seconds, 1), meter.requests, meter.unmetered,
        meter.input, meter.read, meter.written, meter.output, dollars,
    )  # fmt: skip


def summary(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a table of the arms, over the runs that both of them have."""
    keys = [{(each.task, each.number) for each in runs if each.arm == arm} for arm in ARMS]
    both = keys[0] & keys[1]
    yield "| | runs | solved | dollars | input | read from the cache | output | requests |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for arm in ARMS:
        some = [each for each in runs if each.arm == arm and (each.task, each.number) in both]
        dollars = [each.dollars for each in some if each.dollars is not None]
        cost = f"${sum(dollars):.2f}" if len(dollars) == len(some) else "unknown"
        sums = [sum(getattr(each, name) for each in some) for name in ("input", "read", "output", "requests")]
        solved = sum(each.solved for each in some)
        yield f"| {arm} the proxy | {len(some)} | {solved} | {cost} | {' | '.join(f'{each:,}' for each in sums)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="of each task in each arm")
    parser.add_argument("--timeout", type=float, default=3_600.0, metavar="SECONDS", help="for one run")
    parser.add_argument("--upstream", metavar="URL", help="the API, in place of each request's own vendor")
    parser.add_argument("--proxy", nargs="*", default=[], metavar="OPTION", help="for condense proxy: policy=economic")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="the agent, with {task}")
    options = parser.parse_args(arguments)
    options.proxy = [f"--{option}" for option in options.proxy]
    tasks = msgspec.json.decode(options.tasks.read_bytes(), type=list[Task])
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "runs.jsonl"
    lines = file.read_bytes().splitlines() if file.exists() else []
    runs = [msgspec.json.decode(line, type=Run) for line in lines]
    known = {(each.task, each.arm, each.number) for each in runs}
    for number in range(options.runs):
        for task in tasks:
            for arm in ARMS:
                if (task.name, arm, number) in known:
                    continue
                found = run(task, arm, number, options.command, options)
                runs.append(found)
                with file.open("ab") as stream:
                    stream.write(msgspec.json.encode(found) + b"\n")
                print(f"{found.task} {found.arm}: {'solved' if found.solved else 'not solved'}", flush=True)
    print("\n".join(summary(runs)))


if __name__ == "__main__":
    main()
