"""Whether arguments fit a tool's input schema, for a model that has only seen the tool's signature.

A judgement is only given where it is certain. What a schema refers to outside itself is never fetched; a schema that
is itself invalid, or takes too many steps, blocks no call. Patterns are left to the server: they are written for its
regular expressions, and a malicious one could stop ours.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, cast
from weakref import WeakKeyDictionary

from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import ArgumentsDoNotFit
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject, LongInteger

_MOST_PROBLEMS = 10
_LONGEST_PROBLEM = 300
_MOST_REFERENCES = 5000
"""How many references are followed for one judgement; some schemas double with each."""


class _TooManySteps(Exception):
    """A schema that cannot be judged in bounded time."""


class ArgumentCheck:
    """The input schema of one tool, made ready once."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._references = 0
        self._validator = self._make()

    def problems(self, arguments: JSONObject) -> list[str]:
        """What is wrong with the arguments, each as a short sentence; nothing if that is not certain."""
        if self._validator is None:
            return []
        self._references = 0
        try:
            errors = [error for error in self._validator.iter_errors(arguments) if _is_certain(error)]
        except Exception:  # whatever a schema makes the validator raise: it cannot be judged
            return []
        return _sentences(errors)

    def _make(self) -> Any:
        # Loaded for the first call of a compact listing: nobody else pays for it.
        from jsonschema import Draft202012Validator, validators
        from referencing import Registry

        try:
            version = cast(Any, validators.validator_for(self._schema, default=Draft202012Validator))
            version.check_schema(self._schema)
            keywords = {
                name: partial(self._counted, keyword)
                for name in ("$ref", "$dynamicRef", "$recursiveRef")
                if (keyword := version.VALIDATORS.get(name)) is not None
            }
            keywords |= {"pattern": _unjudged, "patternProperties": _unjudged}
            keywords["additionalProperties"] = partial(_unless_patterns, version.VALIDATORS["additionalProperties"])
            extended = cast(Any, validators).extend(version, keywords)
            return extended(self._schema, registry=cast(Any, Registry)())
        except Exception:  # a schema that is itself invalid, in whatever way
            return None

    def _counted(self, keyword: Any, validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        self._references += 1
        if self._references > _MOST_REFERENCES:
            raise _TooManySteps
        yield from keyword(validator, value, instance, schema) or ()


_CHECKS: WeakKeyDictionary[ToolList, dict[str, ArgumentCheck]] = WeakKeyDictionary()


def check_arguments(toolbox: str, server: str, tools: ToolList, tool: str, arguments: JSONObject) -> None:
    """Refuse arguments that certainly do not fit the tool's input schema; a tool that is not there is not judged.

    Raises:
        ArgumentsDoNotFit: With each problem, and the whole schema.
    """
    schema = next((each.get("inputSchema") for each in tools.raw if each["name"] == tool), None)
    if not isinstance(schema, dict):
        return
    checks = _CHECKS.setdefault(tools, {})
    if tool not in checks:
        checks[tool] = ArgumentCheck(cast(JSONObject, schema))
    if problems := checks[tool].problems(arguments):
        raise ArgumentsDoNotFit(toolbox, server, tool, problems, codec.compact(schema))


def _is_certain(error: Any) -> bool:
    return not isinstance(error.instance, LongInteger)


def _unjudged(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Any]:
    return ()


def _unless_patterns(keyword: Any, validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Any]:
    """Which properties are additional depends on the patterns, where there are any."""
    return () if "patternProperties" in schema else keyword(validator, value, instance, schema) or ()


def _sentences(errors: Sequence[Any]) -> list[str]:
    shown = [_sentence(error) for error in islice(sorted(errors, key=_depth), _MOST_PROBLEMS)]
    rest = len(errors) - len(shown)
    return [*shown, f"and {rest} more problems"] if rest > 0 else shown


def _depth(error: Any) -> int:
    return len(error.absolute_path)


def _sentence(error: Any) -> str:
    place = "arguments" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    text = f"{place}: {error.message}"
    return text if len(text) <= _LONGEST_PROBLEM else f"{text[:_LONGEST_PROBLEM]}…"
