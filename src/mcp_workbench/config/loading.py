"""From a file on disk to a config that can be used, or to one error with everything that is wrong.

Read, parse, select what is used, expand variables, validate. Every step adds to the same list of problems, in the
order of the file, and only then does loading fail: nobody should have to run the workbench once per mistake.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_workbench.config.document import Document, Json, JsonPath, NotJson, Problem, read_document, show_path
from mcp_workbench.config.file_content import read_content
from mcp_workbench.config.keys import Selection
from mcp_workbench.config.models import RemoteServer, ServerConfig, WorkbenchConfig
from mcp_workbench.config.variables import Expansion, Use, expand
from mcp_workbench.directories import config_dir
from mcp_workbench.errors import ConfigError, PlacedProblem

_DEFAULT_PATH = "workbench-config.json"
_MISSING = "there is no such file; write a first one with `mcp-workbench init`, or name yours with --config"

# By the letter these are values of variables too, but everybody knows them and they stand in every second message:
# hiding a home directory would make errors unreadable and protect nothing.
_PUBLIC_VARIABLES = frozenset(
    {"HOME", "USER", "LOGNAME", "PWD", "PATH", "SHELL", "TMPDIR", "TEMP", "LANG", "USERPROFILE"}
)

_SENTENCES = {
    "missing": "is required",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list of strings",
    "mapping_type": "must be an object",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "must not be blank",
    "too_short": "must not be empty",
}

_InSource: TypeAlias = Callable[[JsonPath], JsonPath]


@dataclass(frozen=True)
class LoadedConfig:
    """A config, where it came from, what to tell the user about it and what never to tell anyone."""

    config: WorkbenchConfig
    path: Path
    notes: tuple[str, ...]
    secrets: frozenset[str] = field(repr=False)
    disabled: tuple[tuple[str, str], ...] = ()
    """Toolbox and name of each server that is left out, as the file spells them."""
    unavailable: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Why a server cannot be started, by toolbox and server: a variable is not set, for example."""


def config_path(option: str | None, environ: Mapping[str, str]) -> Path:
    """Where the config is: `--config`, else `$WORKBENCH_CONFIG`, else in the current directory, else the user's."""
    chosen = option if option is not None else environ.get("WORKBENCH_CONFIG") or _DEFAULT_PATH
    own = config_dir() / _DEFAULT_PATH if chosen == _DEFAULT_PATH and not os.path.lexists(chosen) else None
    return own if own and own.exists() else Path(os.path.expanduser(chosen))


def load_config(path: Path, environ: Mapping[str, str]) -> LoadedConfig:
    """Read the config at `path`, with the variables of `environ`.

    Raises:
        ConfigError: with every problem of the file.
    """
    return parse_config(_read(path), str(path), environ)


def parse_config(text: str | bytes, source: str, environ: Mapping[str, str]) -> LoadedConfig:
    """Make a config of the contents of a file; `source` is what messages call it.

    Raises:
        ConfigError: with every problem of the text.
    """
    try:
        document = read_document(text)
    except NotJson as error:
        raise ConfigError(source, [PlacedProblem(f"{source}:{error.line}:{error.column}", error.problem)]) from None
    if not isinstance(document.value, dict):
        sentence = 'the document must be a JSON object with the key "toolboxes"'
        raise ConfigError(source, [PlacedProblem(f"{source}:1:1", sentence)])
    return _interpret(document, document.value, source, environ)


def _read(path: Path) -> bytes:
    try:
        return read_content(path)
    except FileNotFoundError:
        problem = _MISSING
    except OSError as error:
        problem = "this is a directory; name a file" if os.path.isdir(path) else _unreadable(error)
    except ValueError:
        problem = "this is not the name of a file"
    raise ConfigError(str(path), [PlacedProblem(str(path), problem)])


def _unreadable(error: OSError) -> str:
    return f"cannot be read ({error.strerror}); allow yourself to read it, or name another file with --config"


def _interpret(document: Document, root: dict[str, Json], source: str, environ: Mapping[str, str]) -> LoadedConfig:
    written = Selection()
    used = written.used(root)
    expansion = expand(used, environ)
    # A second time, for the keys that are known only now; what the first one has taken out cannot be reported again.
    expanded = Selection(expansion.in_source)
    value = expanded.used(expansion.value) if isinstance(expansion.value, dict) else {}
    config, invalid = _validate(value, expansion.in_source)

    causes = [*document.defects, *written.problems, *expansion.problems]
    reported = {problem.path for problem in causes}
    problems = [*causes, *(problem for problem in (*expanded.problems, *invalid) if problem.path not in reported)]
    if config is None or problems:
        ordered = sorted(problems, key=document.order)
        raise ConfigError(source, [_placed(document, source, problem) for problem in ordered])
    notes = (*_deprecations(config), *map(str, written.notes), *map(str, expanded.notes), *_exposed(config))
    _remember_spellings(config, used, expansion)
    disabled = tuple((str(toolbox), str(server)) for _, toolbox, _, server in written.disabled)
    return LoadedConfig(config, Path(source), notes, _secrets(config, expansion), disabled)


def _validate(value: dict[str, Json], in_source: _InSource) -> tuple[WorkbenchConfig | None, list[Problem]]:
    try:
        return WorkbenchConfig.model_validate(value), []
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        return None, [_problem(detail, in_source) for detail in details]


def _problem(detail: ErrorDetails, in_source: _InSource) -> Problem:
    return Problem(in_source(_place(detail)), _sentence(detail), at_key=detail["loc"][-1:] == ("[key]",))


def _place(detail: ErrorDetails) -> JsonPath:
    # What is wrong with a key itself is marked by pydantic with a last step that is not part of the document, and
    # inside a server stands the kind of server that it was taken for.
    place = detail["loc"][:-1] if detail["loc"][-1:] == ("[key]",) else detail["loc"]
    return (*place[:4], *place[5:]) if place[2:3] == ("mcpServers",) else place


def _sentence(detail: ErrorDetails) -> str:
    if detail["type"] == "tuple_type" and detail["loc"] == ("inputs",):
        return "must be a list of objects"
    if detail["type"] == "missing" and detail["loc"][-2:] == ("stdio", "command"):
        return "is required to start the server; a server elsewhere has a 'url' instead"
    if detail["type"] == "value_error":
        return str(detail.get("ctx", {})["error"])
    return _SENTENCES.get(detail["type"], detail["msg"])


def _placed(document: Document, source: str, problem: Problem) -> PlacedProblem:
    line, column = document.place(problem)
    return PlacedProblem(f"{source}:{line}:{column}", str(problem))


def _deprecations(config: WorkbenchConfig) -> Iterable[str]:
    if "tool_mode" in config.model_fields_set:
        yield 'toolMode: deprecated, since "proxy" is the only mode; remove this field'


def _exposed(config: WorkbenchConfig) -> Iterable[str]:
    for path, server in _servers(config):
        if isinstance(server, RemoteServer) and "@" in urlsplit(server.url).netloc:
            yield f"{show_path((*path, 'url'))}: a user or password in it is kept secret; a header is the better place"


def _servers(config: WorkbenchConfig) -> Iterable[tuple[JsonPath, ServerConfig]]:
    for toolbox, box in config.toolboxes.items():
        for name, server in box.servers.items():
            yield ("toolboxes", toolbox, "mcpServers", name), server


def _remember_spellings(config: WorkbenchConfig, written: Json, expansion: Expansion) -> None:
    for path, server in _servers(config):
        entry = written
        for step in expansion.in_source(path):
            entry = entry[step] if isinstance(entry, dict) and isinstance(step, str) else None
        if isinstance(entry, dict):
            server.remember_spelling(entry)


def _secrets(config: WorkbenchConfig, expansion: Expansion) -> frozenset[str]:
    private = {use.value for use in expansion.uses if use.variable not in _PUBLIC_VARIABLES and not _is_spoken(use)}
    public = {use.value for use in expansion.uses if use.variable in _PUBLIC_VARIABLES}
    return frozenset(private | ({value for _, server in _servers(config) for value in server.own_secrets()} - public))


def _is_spoken(use: Use) -> bool:
    """Whether the value stands in a name or a description, which a model must be able to say."""
    match use.path:
        case ("toolboxes", _) | ("toolboxes", _, "description") | ("toolboxes", _, "mcpServers", _):
            return True
        case _:
            return False
