"""What an import does with each server that was found, decided before anything is written.

An entry that two clients share is taken once. A server that the config has already stays as it is there: whoever edited
it meant to. Two different servers of one name in one toolbox both come in, the later one under a longer name. What a
server is for decides on its toolbox, where that can be told; else its project or its client does.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from mcp_workbench.clients.comparison import Comparison, launch, slot_text
from mcp_workbench.clients.entries import Entry, NotTakenOver, is_workbench, make_entry
from mcp_workbench.clients.memory import Imported
from mcp_workbench.clients.purposes import Purpose, purpose_of
from mcp_workbench.clients.reading import FoundServer
from mcp_workbench.clients.safe_write import read_text
from mcp_workbench.clients.variables import escaped, variable_name
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import parse
from mcp_workbench.config.loading import parse_config
from mcp_workbench.errors import ConfigError, WorkbenchError

Status = Literal["new", "present", "conflict", "duplicate", "itself", "refused", "unconfirmed"]
Toolboxes = dict[str, dict[str, dict[str, Json]]]
"""Server entries by toolbox and name."""

_NAME = r"[A-Z_][A-Z0-9_]*"


@dataclass(frozen=True)
class Variable:
    """A variable that the written config needs, where a person finds its value, and the value if it is known."""

    name: str
    source: str
    value: str | None = field(repr=False)
    secret: bool = True


@dataclass(frozen=True)
class Outcome:
    """What becomes of one server."""

    found: FoundServer
    status: Status
    toolbox: str
    name: str
    reason: str = ""
    entry: dict[str, Json] = field(default_factory=dict[str, Json], repr=False)
    notes: tuple[str, ...] = ()
    purpose: Purpose | None = None
    variables: tuple[Variable, ...] = ()


def referenced(text: str) -> set[str]:
    """Return the variables that a config's text refers to without a default."""
    return set(re.findall(rf"(?<!\$)\$\{{({_NAME})\}}", text))


def permissive(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which every variable of a text is set, to check everything else about it."""
    return {**{name: name for name in referenced(text)}, **environ}


def existing_toolboxes(text: str) -> Toolboxes:
    """Return the server entries of a config's text, which `parse_config` has accepted."""
    document = cast("dict[str, Json]", parse(text).value)
    return {
        name: {server: entry for server, entry in _members(toolbox, "mcpServers").items() if isinstance(entry, dict)}
        for name, toolbox in _members(document, "toolboxes").items()
    }


def _members(parent: Json, key: str) -> dict[str, Json]:
    value = parent.get(key) if isinstance(parent, dict) else None
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Known:
    """What there is to compare with: the config, the values of its variables, what was imported into it earlier."""

    config_text: str
    platform: str
    environ: Mapping[str, str] = field(repr=False)
    env_file: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    imports: Mapping[tuple[str, tuple[str, ...]], Imported] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], Imported]
    )


class Takeover:
    """Decides on servers one after the other."""

    def __init__(self, known: Known, toolbox: str | None = None) -> None:
        self._before = existing_toolboxes(known.config_text)
        self._known = known
        self._platform = known.platform
        self._environ = {**known.env_file, **known.environ}
        self._toolbox = toolbox
        self._names = _VariableNames(known, referenced(known.config_text))
        self._taken: dict[tuple[str, str], FoundServer] = {}
        self._whole: list[tuple[str, dict[str, Json], str]] = []
        self._origins: dict[str, object] = {}
        self._lenient = False

    def decide(self, found: Iterable[FoundServer]) -> list[Outcome]:
        """Return what becomes of each server, in order."""
        return [self._decide(server) for server in found]

    def has(self, found: FoundServer) -> bool:
        """Tell whether the config has a server already, by all appearances."""
        self._lenient = True
        return self._decide(found).status == "present"

    def _decide(self, found: FoundServer) -> Outcome:
        name = escaped(found.name.lstrip("_"))
        draft = Outcome(found, "new", self._toolbox or "", name)
        if is_workbench(found.entry):
            return replace(draft, status="itself", reason="it is the workbench itself")
        try:
            whole = make_entry(found, self._platform, lambda _variable, secret, _place: escaped(secret))
            _check_loads(name, whole.content)
        except NotTakenOver as error:
            return replace(draft, status="refused", reason=str(error))
        purpose = None if self._toolbox or found.project else purpose_of(whole.content)
        toolbox = self._toolbox or self._toolbox_for(found, purpose)
        return self._place(replace(draft, toolbox=toolbox, purpose=purpose), whole)

    def _place(self, draft: Outcome, whole: Entry) -> Outcome:
        for name, content, toolbox in self._whole:
            if name == draft.name and launch(content, whole.content) == launch(whole.content, content):
                return replace(draft, status="duplicate", reason=f"the same server is taken into toolbox '{toolbox}'")
        if present := self._present(draft):
            return replace(draft, status="present", toolbox=present[0], name=present[1])
        earlier = self._known.imports.get((str(draft.found.file), draft.found.keys))
        if earlier and earlier.server in self._before.get(earlier.toolbox, {}):
            reason = f"was imported earlier and says something else than {draft.found.client.title} by now; it stays"
            return replace(draft, status="conflict", toolbox=earlier.toolbox, name=earlier.server, reason=reason)
        if draft.name in self._before.get(draft.toolbox, {}) and not draft.purpose and not self._toolbox:
            reason = "is another server, which stays; import with --toolbox to keep both"
            return replace(draft, status="conflict", reason=reason)
        return self._take(replace(draft, name=self._free_name(draft)), whole)

    def _take(self, draft: Outcome, whole: Entry) -> Outcome:
        lifted: dict[str, Variable] = {}

        def hide(preferred: str, secret: str, place: str) -> str:
            variable = self._names.name_for(preferred, draft, secret)
            source = f"{place} of '{draft.found.name}' in {draft.found.file}"
            lifted[variable] = Variable(variable, source, secret)
            return f"${{{variable}}}"

        entry = make_entry(draft.found, self._platform, hide)
        for variable, needed in entry.needed.items():
            value = self._environ.get(needed.variable) if needed.variable else _contents(needed.file)
            lifted.setdefault(variable, Variable(variable, needed.source, value, secret=False))
        self._taken[draft.toolbox, draft.name] = draft.found
        self._whole.append((escaped(draft.found.name.lstrip("_")), whole.content, draft.toolbox))
        return replace(draft, entry=entry.content, notes=entry.notes, variables=tuple(lifted.values()))

    def _present(self, draft: Outcome) -> tuple[str, str] | None:
        """Find the server in the config as it was: the same for certain elsewhere, by all appearances here."""
        secrets: list[str] = []

        def slot(_variable: str, secret: str, _place: str) -> str:
            secrets.append(secret)
            return slot_text(len(secrets) - 1)

        template = make_entry(draft.found, self._platform, slot).content
        earlier = self._known.imports.get((str(draft.found.file), draft.found.keys))
        for toolbox, servers in self._before.items():
            for name, entry in servers.items():
                was_here = earlier is not None and (toolbox, name) == (earlier.toolbox, earlier.server)
                here = toolbox == draft.toolbox and name in (draft.name, self._longer_name(draft))
                match = Comparison(secrets, self._environ, lenient=self._lenient or here or was_here)
                may_be = here or was_here or name == draft.name
                if may_be and match.same(launch(template, entry), launch(entry, template)):
                    return toolbox, name
        return None

    def _free_name(self, draft: Outcome) -> str:
        name, number = draft.name, 1
        while (draft.toolbox, name) in self._taken or name in self._before.get(draft.toolbox, {}):
            name = self._longer_name(draft) if number == 1 else f"{self._longer_name(draft)}-{number}"
            number += 1
        return name

    def _longer_name(self, draft: Outcome) -> str:
        project = draft.found.project
        return f"{draft.name}-{escaped(project.name) if project else draft.found.client.id}"

    def _toolbox_for(self, found: FoundServer, purpose: Purpose | None) -> str:
        origin = purpose or found.project or found.client.id
        named = purpose.toolbox if purpose else found.project.name if found.project else found.client.id
        wanted = escaped(named.lstrip("_")) or "project"
        name, number = wanted, 1
        while self._origins.setdefault(name, origin) != origin:
            number += 1
            name = f"{wanted}-{number}"
        return name


class _VariableNames:
    """Gives each secret a variable of its own, and the same secret the same one."""

    def __init__(self, known: Known, used: set[str]) -> None:
        # What the shell has set wins over the env file, so both must agree with a name's meaning.
        self._environ, self._env_file = known.environ, known.env_file
        self._used = used
        self._given: dict[str, str] = {}

    def name_for(self, preferred: str, draft: Outcome, secret: str) -> str:
        server = variable_name(draft.name)
        # GITHUB_GITHUB_TOKEN would say nothing that GITHUB_TOKEN does not.
        prefix = variable_name(draft.toolbox) if preferred.startswith(f"{server}_") else server
        longer = f"{prefix}_{preferred}"
        candidates = [preferred, longer, *(f"{longer}_{number}" for number in range(2, 100))]
        name = next(name for name in candidates if self._fits(name, secret))
        self._given[name] = secret
        return name

    def _fits(self, name: str, secret: str) -> bool:
        meanings = [values[name] for values in (self._given, self._environ, self._env_file) if name in values]
        # A variable that the config uses already, with a value that cannot be known, may mean something else.
        return all(meaning == secret for meaning in meanings) if meanings else name not in self._used


def _contents(path: str) -> str | None:
    try:
        return (read_text(Path(path).expanduser()) or "").strip() or None if path else None
    except (WorkbenchError, RuntimeError):
        return None


def _check_loads(name: str, entry: dict[str, Json]) -> None:
    """Refuse what the workbench would refuse: one odd entry must not keep the others out."""
    text = json.dumps({"toolboxes": {"main": {"description": "-", "mcpServers": {name: entry}}}})
    try:
        parse_config(text, "entry", permissive(text, {}), tolerant=True)
    except ConfigError as error:
        problems = "; ".join(problem.removeprefix("toolboxes.main.mcpServers.") for problem in error.problems)
        raise NotTakenOver(problems) from None
