"""What the variables of one config file can mean beside the environment: inputs, places of this machine, commands.

An input has its value from `$WORKBENCH_INPUTS`, from an env file, from whoever may be asked, or from its default. The
output of a command is a placeholder until its server starts. Places are no secrets.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from mcp_workbench.config.document import Json, JsonPath, show_key
from mcp_workbench.config.start_values import placeholder
from mcp_workbench.config.variables import Failure, Value
from mcp_workbench.errors import ConfigError, PlacedProblem

INPUTS_VARIABLE = "WORKBENCH_INPUTS"

_STARTED_WITH = frozenset({"command", "args", "env", "cwd", "url", "serverUrl", "httpUrl", "headers", "oauth"})


@dataclass(frozen=True)
class Question:
    """An input that nobody has given a value for, and the server that needs it."""

    id: str
    description: str
    password: bool
    toolbox: str
    server: str


Ask: TypeAlias = Callable[[Question], str | None]
"""Asks a person; None when there is nobody to ask, or no answer."""


def given_inputs(environ: Mapping[str, str]) -> dict[str, str]:
    """The inputs that `$WORKBENCH_INPUTS` gives.

    Raises:
        ConfigError: It is no JSON object of texts.
    """
    text = environ.get(INPUTS_VARIABLE)
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    texts = cast("dict[str, object]", found).values() if isinstance(found, dict) else [None]
    if not all(isinstance(each, str) for each in texts):
        sentence = 'must be a JSON object of texts, such as {"api-key": "…"}'
        raise ConfigError(f"${INPUTS_VARIABLE}", [PlacedProblem(f"${INPUTS_VARIABLE}", sentence)])
    return {name.removeprefix("input:"): value for name, value in cast("dict[str, str]", found).items()}


class FileLookup:
    """The meaning of `${…}` in one config file."""

    def __init__(
        self, folder: Path, inputs: Json, given: Mapping[str, str], from_files: Mapping[str, str], ask: Ask
    ) -> None:
        self._inputs = _by_id(inputs)
        self._given = given
        self._from_files = from_files
        self._ask = ask
        self._places = {
            "workspaceFolder": str(folder),
            "workspaceFolderBasename": folder.name,
            "cwd": os.getcwd(),
            "userHome": os.path.expanduser("~"),
            "pathSeparator": os.sep,
            "/": os.sep,
        }

    def __call__(self, inside: str, path: JsonPath) -> Value | Failure | None:
        """What the text in braces means at a place of the document; None if nothing."""
        kind, colon, argument = inside.partition(":")
        if not colon:
            return Value(self._places[inside], secret=False) if inside in self._places else None
        if kind == "input" and path[:1] == ("inputs",):
            return Failure("an input cannot be made of inputs; write its value, or a variable")
        if kind == "input":
            return self._input(argument.strip(), path)
        return _command(argument.strip(), path) if kind == "cmd" else None

    def _input(self, name: str, path: JsonPath) -> Value | Failure:
        declared = self._inputs.get(name, {})
        value = next((source[key] for source, key in self._sources(name) if key in source), None)
        if value is None and len(path) > 3 and path[:1] == ("toolboxes",):
            description = declared.get("description")
            asked = description if isinstance(description, str) else name
            hidden = declared.get("password") is True
            value = self._ask(Question(name, asked, hidden, str(path[1]), str(path[3])))
        default = declared.get("default")
        if value is None and isinstance(default, str):
            return Value(default, secret=declared.get("password") is True)
        return Value(value) if value is not None else Failure(_no_input(name, declared=bool(declared)), unset=True)

    def _sources(self, name: str) -> list[tuple[Mapping[str, str], str]]:
        return [(self._given, name), (self._from_files, name), (self._from_files, variable_of_input(name))]


def variable_of_input(name: str) -> str:
    """How an env file may spell an input: `api-key` as API_KEY."""
    return re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")


def _by_id(inputs: Json) -> dict[str, dict[str, Json]]:
    listed = [each for each in inputs if isinstance(each, dict)] if isinstance(inputs, list) else []
    return {str(each.get("id")): each for each in listed}


def _command(command: str, path: JsonPath) -> Value | Failure:
    if not command:
        return Failure("${cmd:} names no command; write ${cmd: program arguments}")
    if path[:1] == ("env",) or (len(path) > 4 and path[2] == "mcpServers" and path[4] in _STARTED_WITH):
        return Value(placeholder(command), secret=False)
    return Failure("${cmd:} has a value only when a server starts: it may stand in what starts one, and nowhere else")


def _no_input(name: str, *, declared: bool) -> str:
    unknown = "" if declared else ' is not among "inputs", and'
    example = json.dumps({show_key(name): "value"}, ensure_ascii=False)
    return (
        f"input '{show_key(name)}'{unknown} has no value; run `export {INPUTS_VARIABLE}='{example}'`, "
        f'or put {variable_of_input(name)} into a file that "envFile" names'
    )
