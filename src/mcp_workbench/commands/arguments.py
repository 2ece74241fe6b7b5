"""A tool's arguments as a person types them: a JSON object, or `key=value` words that its input schema gives types."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from mcp_workbench.errors import WorkbenchError
from mcp_workbench.suggestions import closest

_MOST_CHOICES = 8
_LONGEST_CHOICE = 40
_DEEPEST = 5
"""How far references and alternatives are followed; a schema may refer to itself."""


def parse_arguments(words: Sequence[str], schema: object) -> dict[str, Any]:
    """Return the arguments that the words mean for a tool with this input schema.

    A JSON object is taken as it is: whether it fits is for the tool to say.

    Raises:
        WorkbenchError: They make no sense, or do not fit, with the sentence that says why.
    """
    if len(words) == 1 and words[0].lstrip().startswith(("{", "[")):
        return _json_object(words[0])
    root = _mapping(schema)
    arguments: dict[str, Any] = {}
    for word in words:
        key, separator, text = word.partition("=")
        if not separator or not key:
            raise WorkbenchError(f"'{word}' is neither key=value nor a JSON object: write name=value or '{{…}}'")
        if key in arguments:
            raise WorkbenchError(f"{key} is given twice; write several values as a JSON list: {key}='[…]'")
        arguments[key] = _value(key, text, _property(key, root), root)
    _refuse_missing(arguments, root)
    return arguments


def describe_values(schema: object, root: Mapping[str, Any], depth: int = 0) -> str:
    """Return what values a schema takes, in a word or a few: `integer`, `noon|night`, `string|null`; `…` for any."""
    resolved = _resolved(_mapping(schema), root)
    choices = [resolved["const"]] if "const" in resolved else _list(resolved.get("enum"))
    if choices:
        texts = (choice if isinstance(choice, str) else json.dumps(choice) for choice in choices[:_MOST_CHOICES])
        shown = [text if len(text) <= _LONGEST_CHOICE else text[: _LONGEST_CHOICE - 1] + "…" for text in texts]
        return "|".join([*shown, *(["…"] if len(choices) > _MOST_CHOICES else [])])
    types = _types(resolved, root)
    if types == {"array"} and depth < _DEEPEST:
        item = describe_values(resolved.get("items"), root, depth + 1)
        return "array" if item == "…" or "|" in item else f"{item}[]"
    return "|".join(name for name in sorted(types, key=lambda name: (name == "null", name))) or "…"


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = _read_json(text)
    except ValueError as error:
        raise WorkbenchError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise WorkbenchError("the arguments must be a JSON object")
    return cast("dict[str, Any]", value)


def _property(key: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties, others = _mapping(schema.get("properties")), schema.get("additionalProperties")
    if key in properties:
        return _mapping(properties[key])
    # A schema that does not speak of others allows them, but a misspelt name is far more likely.
    if others is False or (properties and not others):
        raise WorkbenchError(f"the tool has no argument '{key}'" + closest(key, list(properties), "argument"))
    return _mapping(others)


def _refuse_missing(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    missing = [name for name in required if name not in arguments]
    if missing:
        raise WorkbenchError(f"the tool also needs {', '.join(f'{name}=…' for name in missing)}")


def _value(key: str, text: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, root)
    if choices := _list(schema.get("enum")):
        return _chosen(key, text, choices)
    types = _types(schema, root)
    if not types:
        return _guessed(text)
    for read in (reader for name, (reader, _) in _READERS.items() if name in types):
        try:
            return read(text)
        except ValueError:
            continue
    wanted = " or ".join(called for name, (_, called) in _READERS.items() if name in types)
    raise WorkbenchError(f"{key} must be {wanted}, and '{text}' is not")


def _chosen(key: str, text: str, choices: list[Any]) -> Any:
    for choice in choices:
        if choice in (text, _guessed(text)):
            return choice
    shown = ", ".join(choice if isinstance(choice, str) else json.dumps(choice) for choice in choices)
    raise WorkbenchError(f"{key} must be one of {shown}")


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference into the same schema refers to."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target: object = root
    for step in reference[2:].split("/"):
        target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
    return {**_mapping(target), **{key: value for key, value in schema.items() if key != "$ref"}}


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> set[str]:
    """Return the types that a schema allows; none when it does not say."""
    declared = schema.get("type")
    types = {name for name in _list(declared) or [declared] if isinstance(name, str) and name in _READERS}
    if depth < _DEEPEST:
        for option in (*_list(schema.get("anyOf")), *_list(schema.get("oneOf"))):
            types |= _types(_resolved(_mapping(option), root), root, depth + 1)
    return types


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _guessed(text: str) -> Any:
    try:
        return _read_json(text)
    except ValueError:
        return text


def _read_json(text: str) -> object:
    """Read JSON, and nothing that Python would take for it.

    Raises:
        ValueError: It is none.
    """
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(text: str) -> float:
    if math.isfinite(value := float(text)):
        return value
    raise ValueError(f"{text} is not a number in JSON")


def _number(text: str) -> float | int:
    value = _read_json(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(text)
    return value


def _integer(text: str) -> int:
    value = _number(text)
    if value != int(value):
        raise ValueError(text)
    return int(value)


def _json_of(kind: type) -> Callable[[str], object]:
    def read(text: str) -> object:
        value = _read_json(text)
        if not isinstance(value, kind):
            raise ValueError(text)
        return value

    return read


_READERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "integer": (_integer, "a whole number"),
    "number": (_number, "a number"),
    "boolean": (_json_of(bool), "true or false"),
    "null": (_json_of(type(None)), "null"),
    "array": (_json_of(list), "a JSON list"),
    "object": (_json_of(dict), "a JSON object"),
    "string": (str, "text"),
}
"""How each type is read and what it is called; the pickiest first, since several may be allowed."""
