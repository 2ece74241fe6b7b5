"""`mcp-workbench logs`: what the workbenches of this user did, from the log file."""

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime

from rich.console import Console

from mcp_workbench.commands.terminal import console, line, write_json_line
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.log_file import LogReader, Record, log_path

_LINES = 100
_PAUSE = 0.25
_SHOWN_APART = {"time", "event", "toolbox", "server", "tool", "ms", "outcome", "reason", "message", "state", "pid"}
_OUTCOMES = {"ok": "green", "question": "green", "cancelled": "yellow"}
_STATES = {"ready": "green", "waiting": "yellow"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Shows what the workbenches did, oldest first: when each began and ended, its servers too, and each call with "
        "its tool, how long it took and what came of it. With a toolbox or a server, what concerns that one alone."
    )
    parser.add_argument("toolbox", nargs="?", metavar="TOOLBOX", help="the toolbox")
    parser.add_argument("server", nargs="?", metavar="SERVER", help="the server in it")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    parser.add_argument(
        "-n", "--lines", type=_count, default=_LINES, metavar="N", help=f"the last N lines (default: {_LINES}; 0: all)"
    )
    parser.add_argument("--json", action="store_true", help="write the lines as they are in the file")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    path = log_path()
    out = console(soft_wrap=True)
    show: Callable[[Record], None] = write_json_line if args.json else lambda record: _show(out, record)

    def wanted(records: Iterable[Record]) -> Iterable[Record]:
        return (record for record in records if _concerns(record, args.toolbox, args.server))

    try:
        with closing(LogReader(path)) as log:
            shown = deque(wanted(log.new()), args.lines or None)
            for record in shown:
                show(record)
            if not shown and not args.follow:
                about = f" about {'/'.join(filter(None, (args.toolbox, args.server)))}" if args.toolbox else ""
                console(stderr=True).print(f"Nothing is logged{line(about)} in {line(path)}.")
            while args.follow:
                sys.stdout.flush()
                time.sleep(_PAUSE)
                for record in wanted(log.new()):
                    show(record)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WorkbenchError(f"{path} cannot be read: {error.strerror}") from None
    return 0


def _count(text: str) -> int:
    if text.isdecimal() and text.isascii():
        return int(text)
    raise argparse.ArgumentTypeError("must be a whole number, 0 for all")


def _concerns(record: Record, toolbox: str | None, server: str | None) -> bool:
    return toolbox in (None, record.get("toolbox")) and server in (None, record.get("server"))


def _show(out: Console, record: Record) -> None:
    out.print(f"[dim]{line(_moment(record.get('time')))}[/]  {_text(record)}")


def _moment(written: object) -> str:
    try:
        return datetime.fromisoformat(str(written)).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return "at an unknown time"


def _text(record: Record) -> str:
    origin = "/".join(str(record[key]) for key in ("toolbox", "server") if record.get(key))
    match record.get("event"):
        case "call":
            outcome = str(record.get("outcome"))
            style = _OUTCOMES.get(outcome, "red")
            told = f"[bold]{line(record.get('tool'))}[/]  {line(record.get('ms'))} ms  [{style}]{line(outcome)}[/]"
            said = f": {line(record['reason'])}" if record.get("reason") else ""
            told = f"{told}{said}"
        case "server":
            style = _STATES.get(str(record.get("state")), "dim")
            told = f"[{style}]{line(record.get('message'))}[/]"
        case event:
            told = f"{line(event)}, process {line(record.get('pid', 'unknown'))}"
    others = "".join(f"  [dim]{line(key)}=[/]{line(value)}" for key, value in record.items() if key not in _SHOWN_APART)
    return f"[cyan]{line(origin)}[/]  {told}{others}" if origin else f"{told}{others}"
