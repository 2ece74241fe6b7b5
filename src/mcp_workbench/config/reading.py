"""One config file, from its text to a value with its variables filled in, and everything there is to say about it.

Paths in problems and notes are those of the file as the workbench understands it; `placed` gives them their line and
column, and the spelling of the file itself.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcp_workbench.config.document import Document, Json, JsonPath, NotJson, Problem, read_document
from mcp_workbench.config.env_files import EnvFile, read_env_file
from mcp_workbench.config.foreign_files import ForeignFile, is_foreign
from mcp_workbench.config.keys import Selection
from mcp_workbench.config.lookups import Ask, FileLookup
from mcp_workbench.config.variables import Expansion, Lookup, Unset, Use, expand
from mcp_workbench.errors import ConfigError, PlacedProblem

ServerPath = tuple[str, str, str, str]
"""`toolboxes`, a toolbox, `mcpServers`, a server."""

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EDITOR_FOLDERS = frozenset({".vscode", ".cursor"})


@dataclass(frozen=True)
class Surroundings:
    """What a file's variables are drawn from beside the file itself."""

    environ: Mapping[str, str]
    inputs: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    ask: Ask = lambda question: None


class _Layered(Mapping[str, str]):
    """The variables of the environment, and behind them those of env files."""

    def __init__(self, environ: Mapping[str, str], from_files: Mapping[str, str]) -> None:
        self._environ = environ
        self._from_files = from_files

    def __getitem__(self, name: str) -> str:
        return self._environ[name] if name in self._environ else self._from_files[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._from_files, **self._environ})

    def __len__(self) -> int:
        return len({**self._from_files, **self._environ})


class ConfigFile:
    """A file that has been read."""

    def __init__(self, data: str | bytes, source: str, surroundings: Surroundings) -> None:
        """Read the contents of a file.

        Raises:
            ConfigError: There is no object in it; everything else that is wrong is kept in `problems`.
        """
        self.source = source
        self._document, root = _read(data, source)
        self._folder = Path(source).parent
        self._foreign = ForeignFile(root, Path(source)) if is_foreign(root) else None
        root = self._foreign.document if self._foreign else root
        self.env_files = [read_env_file(path) for path in self._env_file_names(root, surroundings)]
        self._understand(root, surroundings)
        self._read_env_files_of_servers()

    def placed(self, problem: Problem) -> PlacedProblem:
        """A problem with its line and column."""
        path = self._foreign.in_document(problem.path) if self._foreign else problem.path
        own = Problem(path, problem.sentence, problem.at_key)
        line, column = self._document.place(own)
        return PlacedProblem(f"{self.source}:{line}:{column}", str(own))

    def order(self, problem: Problem) -> int:
        """A sort key that puts problems in the order of the file."""
        path = self._foreign.in_document(problem.path) if self._foreign else problem.path
        return self._document.order(Problem(path, ""))

    def in_source(self, path: JsonPath) -> JsonPath:
        """The path of a place in `value` as the file spells it."""
        return self._expansion.in_source(path)

    def written(self, path: JsonPath) -> Json:
        """The value at a place of `value` as it is in the file, before variables were filled in."""
        value: Json = self._used
        for step in self.in_source(path):
            value = value.get(step) if isinstance(value, dict) and isinstance(step, str) else None
        return value

    @property
    def uses(self) -> tuple[Use, ...]:
        """The variables that went into `value`."""
        return self._expansion.uses

    def _understand(self, root: dict[str, Json], surroundings: Surroundings) -> None:
        written = Selection()
        self._used = _without_nulls(written.used(root))
        from_files = {name: value for file in self.env_files for name, value in file.values.items()}
        environ = _Layered(surroundings.environ, from_files)
        inputs = expand(root.get("inputs"), environ, self._lookup(None, surroundings, from_files)).value
        lookup = self._lookup(inputs, surroundings, from_files)
        self._expansion: Expansion = expand(self._used, environ, lookup)
        # A second time, for the keys that are known only now; what the first one took out cannot be reported again.
        expanded = Selection(self._expansion.in_source)
        value = self._expansion.value
        self.value = expanded.used(value) if isinstance(value, dict) else {}
        found = [*self._document.defects, *written.problems, *self._expansion.problems]
        reported = {problem.path for problem in found}
        found += [problem for problem in expanded.problems if problem.path not in reported]
        found += [Problem(("envFile",), file.problem) for file in self.env_files if file.problem]
        self.problems = [problem for problem in found if not isinstance(problem, Unset)]
        self.unset = [problem for problem in found if isinstance(problem, Unset)]
        self.notes = [*written.notes, *expanded.notes]
        self.disabled = [*written.disabled, *expanded.disabled]

    def _lookup(self, inputs: Json, surroundings: Surroundings, from_files: Mapping[str, str]) -> Lookup:
        folder = Path(os.path.abspath(self._folder))
        workspace = folder.parent if folder.name in _EDITOR_FOLDERS else Path.cwd()
        return FileLookup(workspace, inputs, surroundings.inputs, from_files, surroundings.ask)

    def _env_file_names(self, root: dict[str, Json], surroundings: Surroundings) -> list[Path]:
        """The files that `envFile` at the top names. Their names cannot depend on what is in them."""
        lookup = self._lookup(None, Surroundings(surroundings.environ), {})
        return self._paths(expand(root.get("envFile"), surroundings.environ, lookup).value)

    def _read_env_files_of_servers(self) -> None:
        self.server_env: dict[ServerPath, dict[str, str]] = {}
        for path, entry in self.servers():
            files = [read_env_file(name) for name in self._paths(entry.get("envFile"))]
            self.env_files += files
            place = (*self.in_source(path), "envFile")
            self.unset += [Unset(place, file.problem) for file in files if file.problem]
            self.server_env[path] = {name: value for file in files for name, value in file.values.items()}

    def servers(self) -> Iterator[tuple[ServerPath, dict[str, Json]]]:
        """The entries in `value`, each with its place."""
        for toolbox, box in _members(self.value.get("toolboxes")):
            for name, entry in _members(box.get("mcpServers") if isinstance(box, dict) else None):
                if isinstance(entry, dict):
                    yield ("toolboxes", toolbox, "mcpServers", name), entry

    def _paths(self, names: Json) -> list[Path]:
        listed = names if isinstance(names, list) else [names]
        texts = [name for name in listed if isinstance(name, str) and name.strip() and "\0" not in name]
        return [self._folder / os.path.expanduser(name) for name in texts]


def env_files_of(files: list[ConfigFile]) -> list[EnvFile]:
    """The env files that config files name, each once."""
    return list({env_file.path: env_file for file in files for env_file in file.env_files}.values())


def _read(data: str | bytes, source: str) -> tuple[Document, dict[str, Json]]:
    try:
        document = read_document(data)
    except NotJson as error:
        raise ConfigError(source, [PlacedProblem(f"{source}:{error.line}:{error.column}", error.problem)]) from None
    if not isinstance(document.value, dict):
        sentence = 'the document must be a JSON object with the key "toolboxes"'
        raise ConfigError(source, [PlacedProblem(f"{source}:1:1", sentence)])
    return document, document.value


def _members(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, dict) else []


def _without_nulls(document: dict[str, Json]) -> dict[str, Json]:
    """The document with each `null` in an `env` as the variable of that name, which is what it means."""
    toolboxes = {name: _toolbox_without_nulls(box) for name, box in _members(document.get("toolboxes"))}
    return _env_without_nulls({**document, "toolboxes": toolboxes} if toolboxes else document)


def _toolbox_without_nulls(box: Json) -> Json:
    servers = _members(box.get("mcpServers")) if isinstance(box, dict) else []
    if not servers or not isinstance(box, dict):
        return box
    filled = {name: _env_without_nulls(entry) if isinstance(entry, dict) else entry for name, entry in servers}
    return {**box, "mcpServers": filled}


def _env_without_nulls(parent: dict[str, Json]) -> dict[str, Json]:
    env = parent.get("env")
    if not isinstance(env, dict) or None not in env.values():
        return parent
    return {**parent, "env": {name: _reference(name) if value is None else value for name, value in env.items()}}


def _reference(name: str) -> Json:
    return f"${{env:{name}}}" if _VARIABLE_NAME.fullmatch(name) else None
