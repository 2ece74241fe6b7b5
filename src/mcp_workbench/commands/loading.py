"""The config that a command works on, and what there is to say about it."""

import argparse
import getpass
import os
import sys
from collections.abc import Callable
from dataclasses import replace

from mcp_workbench.commands.terminal import console, line
from mcp_workbench.config.loading import LoadedConfig, load_config
from mcp_workbench.config.locations import config_files
from mcp_workbench.config.lookups import Question
from mcp_workbench.errors import UnknownServer
from mcp_workbench.logs import COMMAND_LOG_LEVEL, log_to_stderr
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest


def load(args: argparse.Namespace, needs: Callable[[str, str], bool] = lambda toolbox, server: False) -> LoadedConfig:
    """Read the config that the arguments name; from now on its secrets are kept out of the log.

    A variable that is not set is no error: the servers that need it are unavailable. Inputs of the servers that the
    command `needs`, by toolbox and server, are asked for in a terminal.

    Raises:
        ConfigError: with every problem of the files.
    """
    asking = _Asking(needs)
    loaded = load_config(config_files(args.config, os.environ), os.environ, tolerant=True, ask=asking.ask)
    log_to_stderr(args.log_level, Redactor(loaded.secrets), default=COMMAND_LOG_LEVEL)
    return loaded


def only(loaded: LoadedConfig, toolbox: str, server: str) -> LoadedConfig:
    """The config without the servers beside the one that is meant, which need not start for it.

    Raises:
        UnknownServer: The toolbox has no such server.
    """
    box = loaded.config.toolboxes.get(toolbox)
    if box is None:
        return loaded  # opening it says so
    if server not in box.servers:
        raise UnknownServer(
            f"Server '{server}' not found in toolbox '{toolbox}'" + closest(server, list(box.servers), "server")
        )
    alone = box.model_copy(update={"servers": {server: box.servers[server]}})
    return replace(loaded, config=loaded.config.model_copy(update={"toolboxes": {toolbox: alone}}))


def show_notes(loaded: LoadedConfig) -> None:
    """Tell on stderr what the config would better not have."""
    err = console(stderr=True)
    for note in loaded.notes:
        err.print(f"[yellow]note:[/] {line(note)}")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 tool`, `2 tools`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


class _Asking:
    """Asks for each input once, and only in a terminal."""

    def __init__(self, needs: Callable[[str, str], bool]) -> None:
        self._needs = needs
        self._answers: dict[str, str | None] = {}

    def ask(self, question: Question) -> str | None:
        """Return what the person typed, or None if there is nobody or nothing was typed."""
        if not self._needs(question.toolbox, question.server) or not (sys.stdin and sys.stdin.isatty()):
            return None
        if question.id not in self._answers:
            prompt = f"{question.description}: "
            self._answers[question.id] = (getpass.getpass(prompt) if question.password else _typed(prompt)) or None
        return self._answers[question.id]


def _typed(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline().rstrip("\n")
