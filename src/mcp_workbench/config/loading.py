"""From files on disk to a config that can be used, or to one error with everything that is wrong in them.

Each file is read, reduced to what is used, and has its variables filled in; the files are merged, and the result is
validated. Every step adds to the same list of problems, in the order of the files, and only then does loading fail:
nobody should have to run the workbench once per mistake.

A variable that is not set makes loading fail too, unless the config says `"unsetVariables": "skip"` or the caller is
`tolerant`. Then the servers that need it are in the config all the same, and `unavailable` says why they cannot start.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from mcp_workbench.config.document import Problem
from mcp_workbench.config.file_content import read_content
from mcp_workbench.config.locations import config_files
from mcp_workbench.config.lookups import Ask, given_inputs
from mcp_workbench.config.merging import Merged
from mcp_workbench.config.models import RemoteServer, ServerConfig, StdioServer, WorkbenchConfig
from mcp_workbench.config.reading import ConfigFile, ServerPath, Surroundings, env_files_of
from mcp_workbench.config.validation import Validated, servers_of, validate
from mcp_workbench.config.variables import Unset, Use
from mcp_workbench.errors import ConfigError, PlacedProblem

_MISSING = "there is no such file; write a first one with `mcp-workbench init`, or name yours with --config"

# By the letter these are values of variables too, but everybody knows them and they stand in every second message:
# hiding a home directory would make errors unreadable and protect nothing.
_PUBLIC_VARIABLES = frozenset(
    {"HOME", "USER", "LOGNAME", "PWD", "PATH", "SHELL", "TMPDIR", "TEMP", "LANG", "USERPROFILE"}
)


@dataclass(frozen=True)
class LoadedConfig:
    """A config, where it came from, what to tell the user about it and what never to tell anyone."""

    config: WorkbenchConfig
    files: tuple[Path, ...]
    """The config files that were read, in the order in which they were merged."""
    notes: tuple[str, ...]
    """What the user should know; each begins with its file, and line and column where it has one."""
    secrets: frozenset[str] = field(repr=False)
    disabled: tuple[tuple[str, str], ...] = ()
    """Toolbox and name of each server that is left out, as the file spells them."""
    unavailable: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Why a server cannot be started, by toolbox and server: a variable is not set, for example."""
    unset: tuple[str, ...] = ()
    """Every variable that is not set and that is needed, with its place."""
    watched: tuple[Path, ...] = ()
    """The files that a change of would change this config: those that were read, and those that might come to be."""

    paths: tuple[Path, ...] = ()
    """The files that were asked for, some of which may be missing; none for a config that is from no file."""

    @property
    def path(self) -> Path:
        """The file that settles what the others leave open: the last."""
        return self.files[-1]

    @property
    def source(self) -> str:
        """The files, as messages name them."""
        return ", ".join(map(str, self.files))


def config_path(options: Sequence[str] | None, environ: Mapping[str, str]) -> Path:
    """The file that serving reads last, or would read if it existed."""
    return config_files(options, environ)[-1]


def load_config(
    path: Path | Sequence[Path], environ: Mapping[str, str], *, tolerant: bool = False, ask: Ask = lambda question: None
) -> LoadedConfig:
    """Read one or more config files, with the variables of `environ`.

    Raises:
        ConfigError: with every problem of the files.
    """
    paths = [path] if isinstance(path, Path) else list(path)
    texts, failures = _read_all(paths)
    missing = [failure for failure in failures if failure.sentence == _MISSING]
    if len(missing) < len(failures) or not texts:
        raise ConfigError(", ".join(map(str, paths)), failures)
    loaded = _load(texts, Surroundings(environ, given_inputs(environ), ask), tolerant=tolerant)
    skipped = tuple(f"{failure.place}: there is no such file; it was skipped" for failure in missing)
    watched = (*paths, *(file for file in loaded.watched if file not in paths))
    return replace(loaded, notes=(*skipped, *loaded.notes), watched=watched, paths=tuple(paths))


def parse_config(text: str | bytes, source: str, environ: Mapping[str, str], *, tolerant: bool = False) -> LoadedConfig:
    """Make a config of the contents of a file; `source` is what messages call it.

    Raises:
        ConfigError: with every problem of the text.
    """
    return _load({Path(source): text}, Surroundings(environ), tolerant=tolerant)


def _read_all(paths: Iterable[Path]) -> tuple[dict[Path, str | bytes], list[PlacedProblem]]:
    texts: dict[Path, str | bytes] = {}
    failures: list[PlacedProblem] = []
    for path in paths:
        try:
            texts[path] = read_content(path)
        except FileNotFoundError:
            failures.append(PlacedProblem(str(path), _MISSING))
        except OSError as error:
            directory = "this is a directory; name a file"
            failures.append(PlacedProblem(str(path), directory if os.path.isdir(path) else _unreadable(error)))
        except ValueError:
            failures.append(PlacedProblem(str(path), "this is not the name of a file"))
    return texts, failures


def _unreadable(error: OSError) -> str:
    return f"cannot be read ({error.strerror}); allow yourself to read it, or name another file with --config"


def _load(texts: Mapping[Path, str | bytes], surroundings: Surroundings, *, tolerant: bool) -> LoadedConfig:
    files: list[ConfigFile] = []
    broken: list[PlacedProblem] = []
    for path, text in texts.items():
        try:
            files.append(ConfigFile(text, str(path), surroundings))
        except ConfigError as error:
            broken += error.placed
    if broken:
        problems = [file.placed(problem) for file in files for problem in file.problems]
        raise ConfigError(", ".join(map(str, texts)), [*problems, *broken])
    return _Interpretation(Merged(files), tolerant=tolerant).loaded()


class _Interpretation:
    """What merged files mean."""

    def __init__(self, merged: Merged, *, tolerant: bool) -> None:
        self._merged = merged
        self._files = merged.files
        skips = merged.value.get("unsetVariables") == "skip"
        self._tolerant = tolerant or skips
        self._unset = {file: [cast("Unset", each) for each in merged.live(file, file.unset)] for file in self._files}
        self._waiting = self._servers_that_wait() if self._tolerant else {}

    def loaded(self) -> LoadedConfig:
        """The config, or an error with everything that is wrong."""
        validated = validate(self._merged, self._unset, self._waiting)
        self._fail_on_problems(validated)
        config = self._with_environment(cast("WorkbenchConfig", validated.config))
        unavailable = {path: "; ".join(reasons) for path, reasons in self._waiting.items()}
        for path, server in servers_of(config):
            if path in unavailable:
                server.make_unavailable(unavailable[path])
        env_files = env_files_of(list(self._files))
        notes = [*self._notes(config), *(note for file in env_files for note in file.notes)]
        files = tuple(Path(file.source) for file in self._files)
        return LoadedConfig(
            config,
            files,
            tuple(notes),
            self._secrets(config),
            disabled=tuple(self._merged.disabled),
            unavailable={(path[1], path[3]): reason for path, reason in unavailable.items()},
            unset=tuple(str(file.placed(each)) for file, unset in self._unset.items() for each in unset),
            watched=(*files, *(file.path for file in env_files)),
        )

    def _fail_on_problems(self, validated: Validated) -> None:
        found = {file: self._merged.live(file, file.problems) for file in self._files}
        for file in self._files:
            reported = {problem.path for problem in (*found[file], *self._unset[file])}
            found[file] += [problem for problem in validated.problems.get(file, []) if problem.path not in reported]
        if any(found.values()) or not (self._tolerant or not any(self._unset.values())):
            problems = [(file, [*found[file], *self._unset[file]]) for file in self._files]
            placed = [file.placed(each) for file, mine in problems for each in sorted(mine, key=file.order)]
            raise ConfigError(", ".join(file.source for file in self._files), placed)

    def _servers_that_wait(self) -> dict[ServerPath, list[str]]:
        """The servers inside whose entries a variable is not set, with the reasons."""
        waiting: dict[ServerPath, list[str]] = {}
        for file, unset in self._unset.items():
            for problem in unset:
                if server := self._merged.server_of(file, problem.path):
                    reasons = waiting.setdefault(server, [])
                    reasons += [problem.sentence] if problem.sentence not in reasons else []
        return waiting

    def _with_environment(self, config: WorkbenchConfig) -> WorkbenchConfig:
        """The config whose programs have the environment of the whole file, of their env files and their own."""
        boxes = {
            toolbox: box.model_copy(
                update={"servers": {name: self._started(config, toolbox, name) for name in box.servers}}
            )
            for toolbox, box in config.toolboxes.items()
        }
        return config.model_copy(update={"toolboxes": boxes})

    def _started(self, config: WorkbenchConfig, toolbox: str, name: str) -> ServerConfig:
        server, path = config.toolboxes[toolbox].servers[name], ("toolboxes", toolbox, "mcpServers", name)
        if not isinstance(server, StdioServer):
            return server
        own = {**self._merged.owner(path).server_env.get(path, {}), **server.env}
        common = self._merged.owner(("env",))
        missing = [each.sentence for each in self._unset[common] if each.path[0] == "env" and each.path[-1] not in own]
        if missing and self._tolerant:
            self._waiting.setdefault(path, []).extend(missing)
        return server.model_copy(update={"env": {**config.env, **own}})

    def _notes(self, config: WorkbenchConfig) -> Iterable[str]:
        for file in self._files:
            notes = [*file.notes, *self._notes_on_unset(file), *self._deprecations(config, file)]
            yield from (str(file.placed(note)) for note in notes)
        for path, server in servers_of(config):
            if isinstance(server, RemoteServer) and "@" in urlsplit(server.url).netloc:
                file = self._merged.owner(path)
                advice = "a user or password in it is kept secret; a header is the better place"
                yield str(file.placed(Problem(file.in_source((*path, "url")), advice)))

    def _notes_on_unset(self, file: ConfigFile) -> list[Problem]:
        return list(self._unset[file]) if self._tolerant else []

    def _deprecations(self, config: WorkbenchConfig, file: ConfigFile) -> Iterable[Problem]:
        if "tool_mode" in config.model_fields_set and self._merged.owner(("toolMode",)) is file:
            yield Problem(("toolMode",), 'deprecated, since "proxy" is the only mode; remove this field')

    def _secrets(self, config: WorkbenchConfig) -> frozenset[str]:
        uses = [use for file in self._files for use in file.uses]
        public = {use.value for use in uses if use.variable in _PUBLIC_VARIABLES}
        private = {use.value for use in uses if use.variable not in _PUBLIC_VARIABLES and not _is_spoken(use)}
        own = {value for _, server in servers_of(config) for value in server.own_secrets()}
        from_files = {value for file in env_files_of(list(self._files)) for value in file.values.values()}
        return frozenset(private | ((own | from_files) - public))


def _is_spoken(use: Use) -> bool:
    """Whether the value stands in a name or a description, which a model must be able to say."""
    match use.path:
        case ("toolboxes", _) | ("toolboxes", _, "description") | ("toolboxes", _, "mcpServers", _):
            return True
        case _:
            return False
