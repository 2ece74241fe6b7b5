"""What `import` says and asks: what was found and where it goes, what does not, and what is left to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from mcp_workbench.clients.reading import ClientFile, FoundServer
from mcp_workbench.clients.secret_parts import secret_parts
from mcp_workbench.clients.takeover import Outcome, Variable
from mcp_workbench.clients.variables import ALWAYS_SET
from mcp_workbench.commands.loading import counted
from mcp_workbench.commands.terminal import console, line, paragraph, write_json
from mcp_workbench.config.concealing import conceal_arguments, conceal_url
from mcp_workbench.config.document import Json


@dataclass(frozen=True)
class Reading:
    """The files that were looked at, and what is in them."""

    files: Sequence[ClientFile]
    servers: Sequence[FoundServer]
    problems: Sequence[str]


@dataclass
class Result:
    """What was written, or would be."""

    target: Path
    env_file: Path
    diff: str
    stored: Sequence[str]
    """The variables whose values are in the env file."""
    variables: Sequence[Variable]
    answers: frozenset[str] = frozenset()
    written: bool = False
    backup: Path | None = None
    note: str = ""

    @property
    def unset(self) -> list[Variable]:
        """The variables that nobody knows a value of."""
        return [each for each in self.variables if each.name not in self.stored and each.name not in ALWAYS_SET]


def confirm(reading: Reading, path: Path) -> bool:
    """Show what a project's file brings along, and ask whether to take it."""
    out = console()
    servers = [server for server in reading.servers if server.file == path]
    out.print(f"[bold]{line(path)}[/] comes with this project. Its {counted(len(servers), 'server')}:")
    for server in servers:
        out.print(f"  {line(server.name)}  [dim]{line(launched(server.entry))}[/]")
    return _answer("Take them over? They are started as soon as their toolbox is opened. [y/N] ").lower() in {
        "y",
        "yes",
    }


def ask(unknown: Sequence[Variable]) -> dict[str, str]:
    """Ask for the values that only a person knows; what is typed is not shown."""
    from getpass import getpass

    answers: dict[str, str] = {}
    for variable in unknown:
        if variable.name in ALWAYS_SET:
            continue
        console().print(f"[bold]{line(variable.name)}[/] is {line(variable.source)}.")
        if value := getpass("  its value (hidden; empty to leave it unset): "):
            answers[variable.name] = value
    return answers


def print_json(reading: Reading, outcomes: Sequence[Outcome], result: Result) -> None:
    """Print everything for another program."""
    document = {
        "config": str(result.target),
        "envFile": str(result.env_file) if result.stored else None,
        "written": result.written,
        "backup": str(result.backup) if result.backup else None,
        "servers": [_as_json(outcome) for outcome in outcomes],
        "variables": [
            {"name": variable.name, "source": variable.source, "stored": variable.name in result.stored}
            for variable in result.variables
        ],
        "problems": [*reading.problems, *([result.note] if result.note else [])],
    }
    write_json(document)


def launched(entry: Json) -> str:
    """What an entry starts or connects to, without what looks like a secret."""
    if not isinstance(entry, dict):
        return ""
    url = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if isinstance(entry.get(key), str)), None)
    if url is not None:
        return conceal_url(str(url))
    command, args = entry.get("command"), entry.get("args")
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    return " ".join(map(_without_secrets, conceal_arguments([str(word) for word in words if word is not None])))


def _without_secrets(word: str) -> str:
    for part in reversed(secret_parts(word)):
        word = f"{word[: part.start]}***{word[part.end :]}"
    return word


def _answer(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        return ""


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "client": outcome.found.client.id,
        "file": str(outcome.found.file),
        "name": outcome.found.name,
        "status": outcome.status,
        "toolbox": outcome.toolbox or None,
        "server": outcome.name,
        "reason": outcome.reason or None,
        "entry": outcome.entry or None,
        "notes": list(outcome.notes),
    }


class Report:
    """What a person reads."""

    def __init__(self, out: Console, reading: Reading, outcomes: Sequence[Outcome], result: Result) -> None:
        self._out = out
        self._reading = reading
        self._outcomes = outcomes
        self._result = result

    def show(self) -> None:
        """Print it."""
        for file in dict.fromkeys(outcome.found.file for outcome in self._outcomes):
            self._file([outcome for outcome in self._outcomes if outcome.found.file == file])
        for problem in self._reading.problems:
            self._out.print(f"[red]Not read:[/] {paragraph(problem)}")
        self._ending()
        self._unset()
        self._next()

    def _file(self, outcomes: Sequence[Outcome]) -> None:
        found = outcomes[0].found
        client = "" if found.client.title == found.file.name else f"[bold]{line(found.client.title)}[/] "
        self._out.print(f"{client}{line(found.file)}")
        for outcome in outcomes:
            self._out.print(f"  {self._line(outcome)}")
            for note in outcome.notes:
                self._out.print(f"      note: {line(note)}")
        if outcomes[0].status == "unconfirmed":
            self._out.print(
                "  This file comes with the project, so its servers are not taken unasked. To take them: "
                f"mcp-workbench import --from {line(found.file)}"
            )
        self._out.print()

    def _line(self, outcome: Outcome) -> str:
        name = line(outcome.found.name)
        place = line(f"{outcome.toolbox}/{outcome.name}")
        match outcome.status:
            case "new":
                off = " (disabled)" if outcome.entry.get("disabled") else ""
                return f"[green]+[/] {name} -> {place}{off}  [dim]{line(launched(outcome.entry))}[/]"
            case "present":
                return f"[dim]=[/] {name}: already there as {place}"
            case "duplicate" | "itself":
                return f"[dim]=[/] {name}: {line(outcome.reason)}"
            case "conflict":
                return f"[yellow]![/] {name}: not taken over: {place} {line(outcome.reason)}"
            case "refused":
                return f"[yellow]![/] {name}: not taken over: {line(outcome.reason)}"
            case "unconfirmed":
                return f"[yellow]?[/] {name}  [dim]{line(launched(outcome.found.entry))}[/]"

    def _ending(self) -> None:
        result, new = self._result, [outcome for outcome in self._outcomes if outcome.status == "new"]
        path = line(result.target)
        if not new:
            self._out.print(f"Nothing new: {path} is unchanged.")
        elif not result.written:
            self._out.print(f"Nothing was written. This is what would change in {path}:\n")
            self._out.print(paragraph(result.diff))
            if result.stored:
                self._out.print(f"And into {line(result.env_file)}: {line(', '.join(result.stored))}")
        else:
            self._written(counted(len(new), "server"))

    def _written(self, servers: str) -> None:
        result = self._result
        self._out.print(f"Wrote {servers} to {line(result.target)}.")
        if result.stored:
            secrets = counted(len(result.stored), "variable")
            self._out.print(f"Wrote {secrets} to {line(result.env_file)}, which only you can read.")
            copied = [each.name for each in result.variables if not each.secret and each.name in result.stored]
            if shell := [name for name in copied if name not in result.answers]:
                self._out.print(f"  of them from your shell, for clients that do not have it: {line(', '.join(shell))}")
            if _is_in_repository(result.env_file):
                self._out.print("  It lies in a git repository: keep it out of commits.")
        if result.backup:
            self._out.print(f"The file as it was: {line(result.backup)}")
        if result.note:
            self._out.print(f"[yellow]note:[/] {line(result.note)}")

    def _unset(self) -> None:
        if not (self._result.written and self._result.unset):
            return
        self._out.print(f"\nValues that nobody has told yet; write them into {line(self._result.env_file)}:")
        for variable in self._result.unset:
            self._out.print(f"  {line(variable.name)}=...   [dim]# {line(variable.source)}[/]")
        self._out.print("Until then the servers that need them are left out, and everything else works.")

    def _next(self) -> None:
        if self._result.written:
            self._out.print(
                "\nNext: `mcp-workbench check --connect`, then `mcp-workbench install CLIENT --replace` for each."
            )


def _is_in_repository(path: Path) -> bool:
    return any((folder / ".git").exists() for folder in path.parents)
