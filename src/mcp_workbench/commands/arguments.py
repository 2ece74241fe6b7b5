"""A tool's arguments as a person types them: a JSON object, or `key=value` words that its input schema gives types."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from mcp_workbench.errors import WorkbenchError
from mcp_workbench.suggestions import closest

_OBJECT = "object"
_IN_ORDER = ("integer", "number", "boolean", "null", "array", _OBJECT, "string")
"""What a value is tried as, when several types are allowed: the pickiest first."""

_CALLED = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a JSON list",
    _OBJECT: "a JSON object",
    "string": "text",
}


def parse_arguments(words: Sequence[str], schema: object) -> dict[str, Any]:
    """Return the arguments that the words mean for a tool with this input schema.

    Raises:
        WorkbenchError: They do not fit, with the sentence that says why.
    """
    if len(words) == 1 and words[0].lstrip().startswith(("{", "[")):
        return _json_object(words[0])
    root = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    arguments: dict[str, Any] = {}
    for word in words:
        key, separator, text = word.partition("=")
        if not separator or not key:
            raise WorkbenchError(f"'{word}' is neither key=value nor a JSON object: write name=value or '{{…}}'")
        if key in arguments:
            raise WorkbenchError(f"{key} is given twice")
        arguments[key] = _value(key, text, _property(key, root), root)
    _refuse_missing(arguments, root)
    return arguments


def _json_object(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise WorkbenchError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise WorkbenchError("the arguments must be a JSON object")
    return cast("dict[str, Any]", value)


def _property(key: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = _mapping(schema.get("properties"))
    if key in properties:
        return _mapping(properties[key])
    others = schema.get("additionalProperties")
    if properties and not others:
        raise WorkbenchError(f"the tool has no argument '{key}'" + closest(key, list(properties), "argument"))
    return _mapping(others)


def _refuse_missing(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    required = schema.get("required")
    names = [str(name) for name in cast("list[Any]", required)] if isinstance(required, list) else []
    if missing := [name for name in names if name not in arguments]:
        raise WorkbenchError(f"the tool also needs {', '.join(f'{name}=…' for name in missing)}")


def _value(key: str, text: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, root)
    types = _types(schema, root)
    for name in _IN_ORDER:
        if name in types:
            try:
                return _allowed(key, _READERS[name](text), schema)
            except ValueError:
                continue
    if types:
        allowed = " or ".join(_CALLED[name] for name in _IN_ORDER if name in types)
        raise WorkbenchError(f"{key} must be {allowed}, and '{text}' is not")
    return _allowed(key, _guessed(text), schema)


def _allowed(key: str, value: Any, schema: Mapping[str, Any]) -> Any:
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        shown = ", ".join(
            choice if isinstance(choice, str) else json.dumps(choice) for choice in cast("list[Any]", choices)
        )
        raise WorkbenchError(f"{key} must be one of {shown}")
    return value


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
    types = {declared} if isinstance(declared, str) else set(cast("list[str]", declared or []))
    for keyword in ("anyOf", "oneOf"):
        for option in cast("list[Any]", schema.get(keyword) or []):
            types |= _types(_resolved(_mapping(option), root), root, depth + 1) if depth < 5 else set()
    return types & set(_IN_ORDER)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _guessed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _number(text: str) -> float | int:
    value: object = json.loads(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(text)
    return value


def _integer(text: str) -> int:
    value = _number(text)
    if value != int(value):
        raise ValueError(text)
    return int(value)


def _json_of(kind: type | None) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value: object = json.loads(text)
        if value is not None if kind is None else not isinstance(value, kind):
            raise ValueError(text)
        return value

    return read


_READERS: Mapping[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _json_of(bool),
    "null": _json_of(None),
    "array": _json_of(list),
    _OBJECT: _json_of(dict),
    "string": str,
}
