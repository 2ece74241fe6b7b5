"""The kinds of value that a config file holds: what is accepted, and the end of a sentence for what is not.

The sentences follow a path ("must be a list of strings") and quote no value, since any value may be a secret. Each kind
also says what the JSON Schema tells an editor.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from mcp_workbench.config.document import JsonFloat

_COMMENTS: dict[str, Any] = {"patternProperties": {"^(_|\\$schema$)": {}}}
NAMED_ENTRIES: dict[str, Any] = {**_COMMENTS, "propertyNames": {"pattern": "\\S"}}
_PORTS = 65536
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _unicode(value: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must be valid Unicode text (it holds half of a surrogate pair)")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a NUL character; no program can be started with one")
    return value


def _variable_name(value: str) -> str:
    if not value or "=" in value:
        raise ValueError("is not the name of an environment variable (it is empty or contains '=')")
    return value


def _as_json_text(value: object) -> object:
    """People write `"PORT": 3000`; a variable is text."""
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:
            seconds = math.inf
        if 0 < seconds < math.inf:
            return seconds
    raise ValueError("must be a positive number of seconds")


def _optional_seconds(value: object) -> float | None:
    return None if value is None else _seconds(value)


def _inherited(value: object) -> object:
    if isinstance(value, bool):
        return value
    names = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [None]
    if all(map(_is_variable_name, names)):
        return names
    raise ValueError("must be true, false or a list of variable names")


def _is_variable_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and "=" not in value and "\0" not in value


def one_of(*choices: str) -> BeforeValidator:
    """A check that names all the choices there are."""
    sentence = f"must be {' or '.join(_listed(choices))}"

    def check(value: object) -> object:
        if value is None or (isinstance(value, str) and value in choices):
            return value
        raise ValueError(sentence)

    return BeforeValidator(check)


def _listed(choices: Sequence[str]) -> list[str]:
    quoted = [f'"{choice}"' for choice in choices]
    return [", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted


def _web_address(value: str) -> str:
    """An address that can be connected to. A user and a password in it are allowed, and are secrets."""
    try:
        parts = urlsplit(value)
        if "${" in value:  # a variable that is not set: nobody will connect to it
            return value
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError("is not an address that can be read; write it as https://host/path") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError("must begin with https:// (or http://)")
    if not usable or not value.isprintable() or " " in value:
        raise ValueError("is not a complete address; write it as https://host/path")
    return value


def _header_name(value: str) -> str:
    if not _TOKEN.fullmatch(value):
        raise ValueError("is not the name of an HTTP header (letters, digits and hyphens)")
    return value


def _header_value(value: str) -> str:
    if not value.isascii() or not value.replace("\t", " ").isprintable():
        raise ValueError("must be one line of ASCII text; an HTTP header can hold nothing else")
    return value.strip(" \t")


def _headers(value: Mapping[str, str]) -> Mapping[str, str]:
    if len({name.lower() for name in value}) < len(value):
        raise ValueError("holds a header twice; their names differ only in the case of letters")
    return value


def _scopes(value: object) -> object:
    """OAuth itself writes scopes as one text with spaces between them."""
    return value.split() if isinstance(value, str) else value


def _paths(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _count(value: object) -> object:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ValueError("must be a positive whole number")


def _port(value: object) -> object:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < _PORTS):
        return value
    raise ValueError("must be a port number from 1 to 65535")


Text = Annotated[str, AfterValidator(_unicode)]
Name = Annotated[Text, AfterValidator(_filled)]
Description = Annotated[Name, WithJsonSchema({"type": "string", "pattern": "\\S"})]
Argument = Annotated[Text, AfterValidator(_without_nul)]
Program = Annotated[Argument, AfterValidator(_filled), Field(min_length=1)]
VariableName = Annotated[Argument, AfterValidator(_variable_name)]
VariableValue = Annotated[
    Argument, BeforeValidator(_as_json_text), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})
]
Seconds = Annotated[float, Field(gt=0), BeforeValidator(_seconds)]
OptionalSeconds = Annotated[Annotated[float, Field(gt=0)] | None, BeforeValidator(_optional_seconds)]
InheritedEnvironment = Annotated[StrictBool | tuple[str, ...], BeforeValidator(_inherited)]


WebAddress = Annotated[Text, AfterValidator(_web_address), WithJsonSchema({"type": "string", "minLength": 1})]
HeaderName = Annotated[Text, AfterValidator(_header_name)]
HeaderValue = Annotated[
    Text,
    BeforeValidator(_as_json_text),
    AfterValidator(_header_value),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Headers = Annotated[Mapping[HeaderName, HeaderValue], AfterValidator(_headers)]
Scopes = Annotated[
    tuple[Name, ...],
    BeforeValidator(_scopes),
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}}),
]
Paths = Annotated[
    tuple[Program, ...],
    BeforeValidator(_paths),
    WithJsonSchema({"type": ["string", "array"], "minLength": 1, "items": {"type": "string"}}),
]
Port = Annotated[Annotated[int, Field(ge=1, lt=_PORTS)] | None, BeforeValidator(_port)]
OptionalCount = Annotated[Annotated[int, Field(gt=0)] | None, BeforeValidator(_count)]
OptionalSwitch = StrictBool | None


def tidy_schema(schema: dict[str, Any]) -> None:
    """Allow comments, and drop the titles that pydantic makes of the keys."""
    schema.update(_COMMENTS)
    for value in schema["properties"].values():
        value.pop("title", None)


class FileObject(BaseModel):
    """An object of the file; camelCase there, snake_case here."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, json_schema_extra=tidy_schema
    )

    @classmethod
    def known_keys(cls) -> frozenset[str]:
        """The keys that the file may use for this object."""
        return frozenset(key for field in cls.model_fields.values() for key in _keys_of(field))


def _keys_of(field: FieldInfo) -> Iterator[str]:
    alias = field.validation_alias or field.alias
    yield from (str(choice) for choice in alias.choices) if isinstance(alias, AliasChoices) else (str(alias),)
