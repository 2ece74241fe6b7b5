"""JSON-RPC lines: bytes on a pipe to Python values and back, with nothing lost on the way.

The standard library's json is used on purpose: it carries lone surrogates, which JavaScript servers produce when they
cut a text inside an emoji and which stricter parsers refuse, and it keeps every number, key and key order. It also
reads `NaN` and `Infinity`, which Python servers write: the answer around them must not be lost, or its call would wait
for ever.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

JSONObject = dict[str, Any]

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class NotJSON(ValueError):
    """A line that is not one JSON object."""


def compact(value: Any) -> str:
    """The shortest JSON text of a value; characters outside ASCII stay themselves."""
    try:
        return _dumps(value)
    except ValueError:
        return _dumps(_representable(value))


def encode(message: Mapping[str, Any]) -> bytes:
    """One message as one line."""
    # UTF-8 has no form for a lone surrogate; the escape that stands for it instead is JSON's own.
    return compact(message).encode(errors="backslashreplace") + b"\n"


def decode(line: bytes) -> JSONObject:
    """One line as one message.

    Raises:
        NotJSON: The line is anything but a JSON object.
    """
    try:
        value: object = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None
    if not isinstance(value, dict):
        raise NotJSON("not a JSON object")
    return cast(JSONObject, value)


def _representable(value: Any) -> Any:
    """The value with null for every number that JSON cannot hold, as JavaScript writes them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _representable(item) for key, item in cast(Mapping[str, Any], value).items()}
    return [_representable(item) for item in cast(list[Any], value)] if isinstance(value, list) else value
