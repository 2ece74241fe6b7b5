"""The command line: arguments, logging to stderr, exit status. Commands are imported only when they are called."""

import argparse
import importlib
import io
import logging
import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp_workbench import __version__
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.logs import COMMAND_LOG_LEVEL, LEVELS, log_to_stderr
from mcp_workbench.redaction import Redactor
from mcp_workbench.usage import Parser

if TYPE_CHECKING:
    from mcp_workbench.config.loading import LoadedConfig

COMMANDS = {
    "check": "validate the config; with --connect, start every server and show how it went",
    "list": "show the toolboxes and servers, or the tools of one toolbox",
    "search": "find tools by words, in all toolboxes, without starting anything",
    "call": "call one tool and show its result",
    "review": "show which tools changed since they were accepted, and accept them",
    "init": "write a first workbench-config.json that works at once",
    "import": "take over the servers that your other clients have",
    "add": "put one server into the config",
    "remove": "take a server or a toolbox out of the config",
    "install": "put the workbench into a client's own config",
    "uninstall": "take it out again, and put back what install replaced",
    "login": "log in at a remote server",
    "logout": "end a login at a remote server",
    "status": "show the workbenches that are running, and how their servers are",
    "logs": "show what the workbenches did: starts, ends, and every call",
    "schema": "print the JSON Schema of the config file",
    "demo": "show everything once, with a built-in example server",
}

_WITHOUT_CONFIG = frozenset({"schema", "demo", "status", "logs"})
"""The commands that look at no config."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name; without one, serve over stdio."""
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where it is known what to do when nobody reads it
    except WorkbenchError as error:
        status = _fail(str(error))
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:  # the reader of our output, `head` perhaps, has seen enough
        _write_no_more()
        status = 0
    except OSError as error:
        _write_no_more()
        status = _fail(_sentence(error))
    sys.exit(status)


def _fail(sentence: str) -> int:
    """Say what went wrong, on the user's terminal; servers may have had a part in the sentence."""
    from mcp_workbench.hidden_characters import shown

    print(f"mcp-workbench: {shown(sentence)}", file=sys.stderr)  # noqa: T201
    return 1


def _sentence(error: OSError) -> str:
    """What a person can make of an error that no command has expected."""
    try:
        os.getcwd()
    except OSError:
        return "the current directory is not there any more: change to another one"
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else f"the output cannot be written: {reason}"


def _write_no_more() -> None:
    """Send what is still to be written to stdout nowhere, or Python would fail once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(argv: Sequence[str]) -> int:
    args = _parsed(argv)
    if args.command is None:
        return _serve(args)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as we run
    log_to_stderr(args.log_level, Redactor(()), default=COMMAND_LOG_LEVEL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that the terminal lacks must not end a command
            stream.reconfigure(errors="backslashreplace")
    return int(_module(args.command).run(args))


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    command = _command_in(argv)
    parsers = _parsers(command)
    argv, line = _without_command_line(argv) if command == "add" else (argv, ())
    args, rest = parsers[None].parse_known_args(argv)
    # argparse gives no word to a list of them that stands after an option: `call BOX SERVER TOOL --json key=value`.
    if rest and (any(word.startswith("-") for word in rest) or "arguments" not in args):
        parsers[args.command].refuse(rest)
    if rest or line:
        args.arguments += [*rest, *line]
    args.config = [*(args.config or ()), *getattr(args, "config_after_command", ())]
    if args.config and args.command in _WITHOUT_CONFIG:
        parsers[args.command].error(f"--config means nothing to {args.command}")
    return args


def _without_command_line(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before and after `--`: what follows is another program's, options included."""
    at = list(argv).index("--") if "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :]


def _command_in(argv: Sequence[str]) -> str | None:
    """The first word that is neither an option nor the value of one."""
    words = _shared_options(None)
    words.add_argument("command", nargs="?")
    try:
        return words.parse_known_args(argv)[0].command
    except argparse.ArgumentError:  # the parser that knows everything will say so
        return None


def _parsers(command: str | None) -> dict[str | None, Parser]:
    """The parser of everything, and each command's; only the one that is going to run is imported to describe it."""
    parser = Parser(
        prog="mcp-workbench",
        description="One MCP server in front of all your others. Without a command it serves over stdio: "
        "that is what a client's config runs. The commands are for people.",
        parents=[_shared_options(None)],
    )
    parser.add_argument("--version", action="version", version=f"mcp-workbench {__version__}")
    parsers: dict[str | None, Parser] = {None: parser}
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name, summary in COMMANDS.items():
        shared = _shared_options(argparse.SUPPRESS, config=name not in _WITHOUT_CONFIG)
        description = summary[0].upper() + summary[1:] + "."
        parsers[name] = commands.add_parser(name, help=summary, description=description, parents=[shared])
        if name == command:
            _module(name).add_arguments(parsers[name])
    return parsers


def _shared_options(default: str | None, *, config: bool = True) -> Parser:
    options = Parser(add_help=False, exit_on_error=False)
    if config:
        options.add_argument(
            "--config",
            # A subparser would forget what stands before the command, so it collects under a name of its own.
            dest="config" if default is None else "config_after_command",
            metavar="PATH",
            action="append",
            default=default,
            help="the config file; may be repeated, then later files add to earlier ones (default: $WORKBENCH_CONFIG, "
            "else ./workbench-config.json, else that in your config directory)",
        )
    options.add_argument(
        "--log-level",
        choices=list(LEVELS),
        default=default,
        help="what to log to stderr (default: $WORKBENCH_LOG_LEVEL, else info; for commands: error)",
    )
    return options


def _module(command: str):
    name = "import_" if command == "import" else command
    with _ctrl_c_kills():
        module = importlib.import_module(f"mcp_workbench.commands.{name}")
        if "anyio" in sys.modules:  # which would import this only when it first runs
            importlib.import_module("anyio._backends._asyncio")
        return module


@contextmanager
def _ctrl_c_kills() -> Generator[None]:
    """End at once on Ctrl-C: as an exception in the middle of imports it would come out as somebody's traceback."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored by whoever started us, for example
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _serve(args: argparse.Namespace) -> int:
    # Imported where Ctrl-C is already caught: it takes a moment.
    from mcp_workbench.config.loading import load_config
    from mcp_workbench.config.locations import config_files

    loaded = load_config(config_files(args.config, os.environ), os.environ)
    log_to_stderr(args.log_level, Redactor(loaded.secrets))
    for note in loaded.notes:
        logging.getLogger(__name__).warning("%s", note)
    if sys.stdin is not None and sys.stdin.isatty():
        _explain_to_person(loaded)
    from mcp_workbench.upstream.serve import serve

    serve(loaded)
    return 0


def _explain_to_person(loaded: "LoadedConfig") -> None:
    toolboxes = len(loaded.config.toolboxes)
    print(  # noqa: T201 - the user's terminal
        f"mcp-workbench {__version__} now serves {toolboxes} toolbox{'' if toolboxes == 1 else 'es'} "
        f"of {loaded.source} over stdio: it waits for an MCP client on stdin.\n"
        "An MCP client starts this command by itself: `mcp-workbench install CLIENT` puts it into a client's config.\n"
        "To try it here: `mcp-workbench check --connect`, `mcp-workbench list`, `mcp-workbench demo`. Ctrl-C ends it.",
        file=sys.stderr,
    )
