"""JSON-RPC lines: bytes on a pipe to Python values and back, with nothing lost on the way.

The standard library's json is used on purpose: it carries lone surrogates, which JavaScript servers produce when they
cut a text inside an emoji and which stricter parsers refuse, and it keeps every number, key and key order.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn, cast

JSONObject = dict[str, Any]

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_dumps_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


class NotJSON(ValueError):
    """A line that is not one JSON object."""


def compact(value: Any) -> str:
    """The shortest JSON text of a value; characters outside ASCII stay themselves."""
    return _dumps(value)


def encode(message: Mapping[str, Any]) -> bytes:
    """One message as one line.

    Raises:
        ValueError: A number in it (NaN, infinity) has no JSON form.
    """
    try:
        return _dumps(message).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate: UTF-8 has no form for it, an escape does
        return _dumps_ascii(message).encode() + b"\n"


def decode(line: bytes) -> JSONObject:
    """One line as one message.

    Raises:
        NotJSON: The line is anything but a JSON object.
    """
    try:
        value: object = _loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None
    if not isinstance(value, dict):
        raise NotJSON("not a JSON object")
    return cast(JSONObject, value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_loads = json.JSONDecoder(parse_constant=_refuse_constant).decode
