"""A tool as one line: its signature and its description, for a model that has not seen its input schema.

    read_file(path: string /* Absolute path */, head?: integer = 10, mode?: 'text'|'binary'): Reads a file.

Types are written as in TypeScript, since every model knows them: `?` marks what may be left out, `= value` a default,
`T[]` a list, `{a: T, b?: U}` an object, `{[key]: T}` a map, `A|B` a choice, `'x'|'y'` the values allowed, and
`/* … */` what the server says of a parameter. Types that are used several times or that hold themselves are named, and
explained after `where`. Long descriptions are cut, which `…` shows, and what several tools of a server say of a
parameter in the same words is said at the first of them. Nothing that a server sends can break the form: texts become
one line without control characters or comment marks, and names that are not plain words are quoted as JSON.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

Schema = Mapping[str, Any]

_PLAIN_NAME = re.compile(r"[\w.:/@$+-]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")  # noqa: RUF001 - Chinese and Japanese have their own marks
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")

_LONGEST_TEXT = 800
_LONGEST_COMMENT = 300
_MOST_VALUES = 40
_LONGEST_VALUE = 80
_DEEPEST = 16
_NOT_A_BOUND = 2**31 - 1
"""From here on a bound says nothing but how large a number can be, as generated schemas do."""

_SCALARS = ("string", "integer", "number", "boolean", "null")
_SUBSCHEMAS = ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems")


Said = set[tuple[str, str]]
"""What has been said of parameters so far: their names with the words."""


def lines(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """The tools of one server with all that a call needs: parameters, types, descriptions of both."""
    said = Said()
    return [_with_text(_signature(tool, _DEEPEST, said), _cut(flat(_text_of(tool)), _LONGEST_TEXT)) for tool in tools]


def short_lines(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """The tools of one server with their parameters' outer types and the first sentences of their descriptions."""
    return [_with_text(_signature(tool, 1, None), first_sentence(_text_of(tool))) for tool in tools]


def flat(text: str) -> str:
    """A text on one line, without characters that would not show as themselves."""
    return " ".join(_INVISIBLE.sub(" ", text).split())


def first_sentence(text: str, longest: int = 160) -> str:
    """The first sentence of a text, cut where it is very long."""
    paragraph = _PARAGRAPH_END.split(text[: 20 * longest].strip(), maxsplit=1)[0]
    sentence = _SENTENCE_END.split(flat(paragraph), maxsplit=1)[0]
    return _cut(sentence, longest)


def quoted_name(name: str) -> str:
    """A name as it is; as a JSON string where it could be taken for something else or would not show as itself."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return json.dumps(name, ensure_ascii=_INVISIBLE.search(name) is not None)


def _cut(text: str, longest: int) -> str:
    """A text that is no longer than that; it ends with a whole sentence or word, and `…` says that there is more."""
    if len(text) <= longest:
        return text
    kept = text[: longest - 2]
    for end in (kept.rfind(". ") + 1, kept.rfind(" ")):
        if end > longest // 2:
            return f"{kept[:end].rstrip()} …"
    return f"{kept} …"


def _with_text(signature: str, text: str) -> str:
    return f"{signature}: {text}" if text else signature


def _text_of(tool: Mapping[str, Any]) -> str:
    texts = (tool.get("description"), tool.get("title"))
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _signature(tool: Mapping[str, Any], deepest: int, said: Said | None) -> str:
    writer = _TypeWriter(_mapping(tool.get("inputSchema")), deepest, said)
    return quoted_name(str(tool["name"])) + writer.parameters()


class _TypeWriter:
    """Writes the types of one schema; knows which of its definitions are worth a name."""

    def __init__(self, root: Schema, deepest: int, said: Said | None) -> None:
        self._root = root
        self._deepest = deepest
        self._said = said
        self._uses = Counter(_references(root))
        self._path: list[str] = []
        self._names: dict[str, str] = {}
        self._named: dict[str, str] = {}

    def parameters(self) -> str:
        """All parameters between parentheses, and the named types that they use."""
        root = self._resolved(self._root)
        text = f"({self._members(root, 0)})" if self._is_object(root) else f"({self.type_of(root, 0)})"
        return text + self._where()

    def _where(self) -> str:
        if not self._named:
            return ""
        return " where " + ", ".join(f"{name} = {text}" for name, text in self._named.items())

    @staticmethod
    def _is_object(schema: Schema) -> bool:
        return "properties" in schema or (schema.get("type", "object") == "object" and not _choices(schema))

    # Members of an object.

    def _members(self, schema: Schema, depth: int) -> str:
        required = [name for name in _sequence(schema.get("required")) if isinstance(name, str)]
        members = [
            self._member(name, _mapping(value), name in required, depth)
            for name, value in _mapping(schema.get("properties")).items()
        ]
        known = _mapping(schema.get("properties"))
        members += [f"{quoted_name(name)}: any" for name in dict.fromkeys(required) if name not in known]
        return ", ".join([*members, *self._free_members(schema, depth)])

    def _member(self, name: str, schema: Schema, required: bool, depth: int) -> str:
        default = self._default(schema)
        written = self.type_of(schema, depth + 1, nullable=required or default not in ("", " = null"))
        text = f"{quoted_name(name)}{'' if required else '?'}: {written}"
        if default != " = null":
            text += default
        return text + self._comment(name, schema)

    def _default(self, schema: Schema) -> str:
        return f" = {_value(schema['default'])}" if "default" in schema else ""

    def _comment(self, name: str, schema: Schema) -> str:
        description = schema.get("description")
        if self._said is None or not isinstance(description, str):
            return ""
        text = flat(description).replace("*/", "* /").removesuffix(".")
        if not text or (name, text) in self._said:
            return ""
        self._said.add((name, text))
        return f" /* {_cut(text, _LONGEST_COMMENT)} */"

    def _free_members(self, schema: Schema, depth: int) -> Iterator[str]:
        """What may stand beside the members that have names."""
        for pattern, value in _mapping(schema.get("patternProperties")).items():
            yield f"[{_value(pattern)}]: {self.type_of(_mapping(value), depth + 1)}"
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping):
            yield f"[key]: {self.type_of(cast(Schema, others), depth + 1)}"
        elif others is True:
            yield "[key]: any"

    # Types.

    def type_of(self, schema: Schema, depth: int, *, nullable: bool = True) -> str:
        """The type that a schema describes; without `nullable`, not saying that it may be null."""
        if isinstance(reference := schema.get("$ref"), str):
            return self._referred(reference, schema, depth)
        if depth > self._deepest + 1:
            return _outer_type(schema)
        options = self._options(schema, depth)
        if not nullable and len(options) > 1:
            options = [option for option in options if option != "null"]
        return "|".join(options)

    def _options(self, schema: Schema, depth: int) -> list[str]:
        if "const" in schema:
            return [_value(schema["const"])]
        if values := _sequence(schema.get("enum")):
            return _listed(values)
        if alternatives := _choices(schema):
            inner = [self.type_of(_mapping(option), depth + 1) for option in alternatives]
            return list(dict.fromkeys(part for text in inner for part in _split_choice(text)))
        if parts := _sequence(schema.get("allOf")):
            return [self._combined([_mapping(part) for part in parts], schema, depth)]
        declared = schema.get("type")
        names = _sequence(declared) or ([declared] if declared is not None else [_implied(schema)])
        return [self._simple(str(name), schema, depth) for name in names]

    def _combined(self, parts: Sequence[Schema], schema: Schema, depth: int) -> str:
        own = {key: value for key, value in schema.items() if key in ("type", "properties", "required")}
        every = [*parts, own] if "properties" in own else list(parts)
        return " & ".join(dict.fromkeys(self.type_of(part, depth + 1) for part in every))

    def _simple(self, name: str, schema: Schema, depth: int) -> str:
        if name == "array":
            return self._list(schema, depth)
        if name == "object":
            return self._object(schema, depth)
        return f"{name}{_limits(schema)}" if name in _SCALARS else "any"

    def _list(self, schema: Schema, depth: int) -> str:
        if fixed := _sequence(schema.get("prefixItems")) or _sequence(schema.get("items")):
            return f"[{', '.join(self.type_of(_mapping(item), depth + 1) for item in fixed)}]"
        inner = self.type_of(_mapping(schema.get("items")), depth + 1)
        return f"({inner})[]" if _is_choice(inner) else f"{inner}[]"

    def _object(self, schema: Schema, depth: int) -> str:
        if depth > self._deepest:
            return "object"
        members = self._members(schema, depth)
        return f"{{{members}}}" if members else "object"

    # References within the schema.

    def _referred(self, reference: str, schema: Schema, depth: int) -> str:
        target = self._target(reference)
        if target is None or depth > self._deepest:
            return "any" if target is None else _outer_type(target)
        if reference not in self._path and (self._uses[reference] < 2 or _is_small(target)):
            return self._inline(reference, target, depth)
        return self._name(reference, target)

    def _inline(self, reference: str, target: Schema, depth: int) -> str:
        self._path.append(reference)
        text = self.type_of(target, depth + 1)
        self._path.pop()
        return text

    def _name(self, reference: str, target: Schema) -> str:
        if reference in self._names:
            return self._names[reference]
        wanted = _unescaped(reference.rsplit("/", 1)[-1].lstrip("#")) or "Root"
        taken = sum(name.rstrip("0123456789") == wanted for name in self._named)
        name = self._names[reference] = quoted_name(f"{wanted}{taken + 1}" if taken else wanted)
        self._named[name] = "…"  # keeps its place before the types that it uses
        self._path.append(reference)
        self._named[name] = self.type_of({key: target[key] for key in target if key != "$defs"}, 1)
        self._path.pop()
        return name

    def _resolved(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        target = self._target(reference) if isinstance(reference, str) else None
        return schema if target is None else target

    def _target(self, reference: str) -> Schema | None:
        """What a reference into the same schema leads to; others are not followed."""
        if not reference.startswith("#"):
            return None
        target: object = self._root
        for step in reference[1:].split("/")[1:]:
            target = _mapping(target).get(_unescaped(step))
        return cast(Schema, target) if isinstance(target, Mapping) else None


def _references(schema: object, depth: int = 0) -> Iterator[str]:
    """Every reference in a schema, as often as it is there."""
    if depth > 50:
        return
    if isinstance(schema, Mapping):
        mapping = cast(Schema, schema)
        if isinstance(reference := mapping.get("$ref"), str):
            yield reference
        for value in mapping.values():
            yield from _references(value, depth + 1)
    elif isinstance(schema, list):
        for value in cast(list[object], schema):
            yield from _references(value, depth + 1)


def _choices(schema: Schema) -> list[Any]:
    return [*_sequence(schema.get("anyOf")), *_sequence(schema.get("oneOf"))]


def _listed(values: Sequence[Any]) -> list[str]:
    shown = [_value(value) for value in values[:_MOST_VALUES]]
    rest = len(values) - len(shown)
    return [*shown, f"… {rest} more values"] if rest else shown


def _value(value: object) -> str:
    """A value as it would be written in code; text in single quotes, which JSON need not escape."""
    if isinstance(value, str):
        text = value if len(value) <= _LONGEST_VALUE else value[:_LONGEST_VALUE] + "…"
        escaped = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
        return f"'{_INVISIBLE.sub('', escaped)}'"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def _limits(schema: Schema) -> str:
    """The range of a number, or the format of a text, where they are given."""
    form = schema.get("format")
    if isinstance(form, str) and schema.get("type") != "integer" and _PLAIN_NAME.fullmatch(form) and len(form) < 20:
        return f"({form})"
    low, high = _bound(schema, "inimum", "> "), _bound(schema, "aximum", "< ")
    if low and high and not low.startswith(">") and not high.startswith("<"):
        return f"({low}..{high})"
    texts = [low if low.startswith(">") else f">= {low}"] if low else []
    texts += [high if high.startswith("<") else f"<= {high}"] if high else []
    return f"({', '.join(texts)})" if texts else ""


def _bound(schema: Schema, ending: str, exclusive: str) -> str:
    for key, mark in ((f"m{ending}", ""), (f"exclusiveM{ending}", exclusive)):
        value = schema.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NOT_A_BOUND:
            return f"{mark}{value:g}" if math.isfinite(value) else ""
    return ""


def _implied(schema: Schema) -> str:
    """The type that a schema without one means."""
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "any"


def _outer_type(schema: Schema) -> str:
    """The type without what is in it."""
    name = schema.get("type", _implied(schema))
    return name if isinstance(name, str) and _PLAIN_NAME.fullmatch(name) else "any"


def _is_small(schema: Schema) -> bool:
    return not any(key in schema for key in ("properties", *_SUBSCHEMAS)) and len(_sequence(schema.get("enum"))) <= 4


def _is_choice(text: str) -> bool:
    return len(_split_choice(text)) > 1 or " & " in text


def _split_choice(text: str) -> list[str]:
    """The parts of a choice, at the bars that are not inside brackets, quotes or comments."""
    parts: list[str] = []
    depth, start, quote = 0, 0, ""
    position = 0
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif text.startswith(quote, position):
                position += len(quote) - 1
                quote = ""
        elif character in "'\"":
            quote = character
        elif text.startswith("/*", position):
            quote = "*/"
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "|" and not depth:
            parts.append(text[start:position])
            start = position + 1
        position += 1
    return [*parts, text[start:]]


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _mapping(value: object) -> Schema:
    return cast(Schema, value) if isinstance(value, Mapping) else {}


def _sequence(value: object) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []
