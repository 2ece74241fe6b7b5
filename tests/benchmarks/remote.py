"""Remote servers: a call and a flood of calls through the workbench to servers over streamable HTTP, and opening many.

Beside it stand the same calls made straight over HTTP and a proxy written plainly on the SDK; `--peers` adds fastmcp.
"""

import http.client
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.contenders import HERE, PLAIN, WORKBENCH, Contender, all_running, connect, start, workbench
from benchmarks.figures import Figure, figure_of_rounds

MANY = 20


def remote_figures(directory: Path, *, rounds: int, calls: int, peers: Sequence[Contender] = ()) -> Generator[Figure]:
    """Measure calls to one server, and opening twenty."""
    with _server() as port:
        contenders = [_plain(port), _workbench(port), *(_fastmcp(one, port) for one in peers if one.name == "fastmcp")]
        with all_running(contenders, directory, 1) as running:
            half, rate = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
            for number in range(rounds + 1):
                times = {"direct": _direct(port, calls), **{one.name: one.time_calls(calls, 10) for one in running}}
                rates = {one.name: one.rate(3 * calls, 50) for one in running}
                if number:  # the first round warms up
                    for name, seconds in times.items():
                        half[name].append(median(seconds) * 1000)
                    for name, value in rates.items():
                        rate[name].append(value)
        yield figure_of_rounds("call to a remote server, p50", "ms", half, goal="≤ 0.6 x")
        yield figure_of_rounds("remote calls, 50 in flight", "calls/s", rate)
        yield _opening([one for one in contenders if one.name in ("plain", "workbench")], directory, rounds)


def _opening(contenders: Sequence[Contender], directory: Path, rounds: int) -> Figure:
    samples = defaultdict[str, list[float]](list)
    for _ in range(min(rounds, 5)):
        for one in contenders:
            began = time.perf_counter()
            with start(one, directory, MANY) as client:
                connect(one, client, MANY)
                samples[one.name].append((time.perf_counter() - began) * 1000)
    return figure_of_rounds(f"start to first answers, {MANY} remote servers", "ms", samples)


def _urls(port: int, servers: int) -> list[str]:
    return [f"http://127.0.0.1:{port}/{number}/mcp" for number in range(servers)]


def _plain(port: int) -> Contender:
    return Contender(
        "plain",
        command=lambda directory, servers: [
            sys.executable,
            str(HERE / "plain_remote_proxy.py"),
            *_urls(port, servers),
        ],
        params=PLAIN.params,
    )


def _workbench(port: int) -> Contender:
    def command(directory: Path, servers: int) -> list[str]:
        entries = {f"s{number}": {"url": url} for number, url in enumerate(_urls(port, servers))}
        box = {"description": "What is measured", "mcpServers": entries}
        path = directory / f"remote-{servers}.json"
        path.write_text(json.dumps({"toolboxes": {"box": box}}), encoding="utf-8")
        return workbench(path)

    return Contender("workbench", command=command, params=WORKBENCH.params, opening=WORKBENCH.opening)


def _fastmcp(peer: Contender, port: int) -> Contender:
    """The peer as it is installed, with an address instead of a program."""

    def command(directory: Path, servers: int) -> list[str]:
        path = directory / f"fastmcp-remote-{servers}.json"
        entries = {f"s{number}": {"url": url} for number, url in enumerate(_urls(port, servers))}
        path.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
        interpreter, script, *_ = peer.command(directory, servers)
        return [interpreter, script, str(path)]

    return Contender(peer.name, command=command, params=peer.params, opening=peer.opening, env=peer.env)


def _direct(port: int, calls: int) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    params = {"name": "text", "arguments": {"size": 10}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    times: list[float] = []
    for _ in range(calls):
        began = time.perf_counter()
        connection.request("POST", "/mcp", body, {"content-type": "application/json"})
        connection.getresponse().read()
        times.append(time.perf_counter() - began)
    connection.close()
    return times


@contextmanager
def _server() -> Generator[int]:
    command = [sys.executable, str(HERE / "trivial_http_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
