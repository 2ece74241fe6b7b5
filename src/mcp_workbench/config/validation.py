"""Merged config files as models, or what is wrong with them, each problem at its place in its file."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_workbench.config.document import Json, JsonPath, Problem
from mcp_workbench.config.merging import Merged
from mcp_workbench.config.models import ServerConfig, WorkbenchConfig
from mcp_workbench.config.reading import ConfigFile, ServerPath
from mcp_workbench.config.variables import Unset

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


@dataclass(frozen=True)
class Validated:
    """A config, or what is wrong with each file."""

    config: WorkbenchConfig | None
    problems: Mapping[ConfigFile, Sequence[Problem]]


def validate(merged: Merged, unset: Mapping[ConfigFile, Sequence[Unset]], waiting: Collection[ServerPath]) -> Validated:
    """Make models of merged files.

    Servers in `waiting` cannot start, since a variable of theirs is not set. Where only its value could be valid, the
    key is left out of them.
    """
    value, details = merged.value, list[ErrorDetails]()
    for _ in range(2):
        try:
            config = WorkbenchConfig.model_validate(value)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
        else:
            for path, server in servers_of(config):
                written = merged.owner(path).written(path)
                server.remember_spelling(written if isinstance(written, dict) else {})
            return Validated(config, {})
        value = _without_unset(value, merged, unset, waiting, [_place(detail) for detail in details])
    problems: dict[ConfigFile, list[Problem]] = defaultdict(list)
    for detail in details:
        owner = merged.owner(_place(detail))
        problems[owner].append(_problem(detail, owner))
    return Validated(None, problems)


def servers_of(config: WorkbenchConfig) -> Iterator[tuple[ServerPath, ServerConfig]]:
    """Every server of a config, with its place."""
    for toolbox, box in config.toolboxes.items():
        for name, server in box.servers.items():
            yield ("toolboxes", toolbox, "mcpServers", name), server


def sentence_of(detail: ErrorDetails) -> str:
    """What is wrong, as the end of a sentence that begins with a path."""
    if detail["type"] == "tuple_type" and detail["loc"] == ("inputs",):
        return "must be a list of objects"
    if detail["type"] == "missing" and detail["loc"][-2:] == ("stdio", "command"):
        return "is required to start the server; a server elsewhere has a 'url' instead"
    if detail["type"] == "value_error":
        return str(detail.get("ctx", {})["error"])
    return _SENTENCES.get(detail["type"], detail["msg"])


def _without_unset(
    value: dict[str, Json],
    merged: Merged,
    unset: Mapping[ConfigFile, Sequence[Unset]],
    waiting: Collection[ServerPath],
    places: Sequence[JsonPath],
) -> dict[str, Json]:
    """The value without the keys that are invalid because a variable in them is not set."""
    excused: set[JsonPath] = set()
    for place in places:
        owner = merged.owner(place)
        if place[:4] in waiting and owner.in_source(place) in {each.path for each in unset[owner]}:
            excused.add(place[:5])
    return cast("dict[str, Json]", _without(value, (), excused)) if excused else value


def _without(value: Json, path: JsonPath, excused: Collection[JsonPath]) -> Json:
    if not isinstance(value, dict) or len(path) > 4:
        return value
    return {key: _without(item, (*path, key), excused) for key, item in value.items() if (*path, key) not in excused}


def _problem(detail: ErrorDetails, owner: ConfigFile) -> Problem:
    return Problem(owner.in_source(_place(detail)), sentence_of(detail), at_key=detail["loc"][-1:] == ("[key]",))


def _place(detail: ErrorDetails) -> JsonPath:
    # What is wrong with a key itself is marked by pydantic with a last step that is not part of the document, and
    # inside a server stands the kind of server that it was taken for.
    place = detail["loc"][:-1] if detail["loc"][-1:] == ("[key]",) else detail["loc"]
    return (*place[:4], *place[5:]) if place[2:3] == ("mcpServers",) else place
