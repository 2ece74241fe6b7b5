"""Rules by which `check` points at tools whose texts look written to steer a model, not to describe a tool.

A server's texts go to the model as they are, so a person should know of texts like these before they are used:

- **hidden characters**: zero-width, bidirectional, tag or control characters: a model reads what no person sees;
- **instructions to the model**: tags like `<IMPORTANT>`, orders to ignore other instructions, to keep something from
  the user, or to pass on the conversation, and names of private files;
- **other servers' tools**: the compound name of a tool that only other servers have: "before send_mail, call this".

The rules are few and literal. They find what is clumsy, not what is clever, and are quiet on what is honest.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from mcp_workbench.hidden_characters import hidden_in

_EXCERPT = 80

_ORDERS = {
    "a tag that poses as the system's": r"<\s*/?\s*(?:important|system|secret|hidden|admin|instructions?)"
    r"\s*>",
    "an order to ignore other instructions": r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}"
    r"\b(?:previous|prior|above|earlier|other|existing|system)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules|messages?)\b",
    "an order to keep something from the user": r"\b(?:do not|don't|never|must not|without)\s+(?:ever\s+)?"
    r"(?:tell|telling|mention|mentioning|inform|informing|notify|notifying|reveal|revealing|alert|alerting)\b"
    r"[^.\n]{0,60}\buser\b",
    "an order to pass on the conversation": r"\b(?:send|include|pass|forward|provide|append|copy)\b[^.\n]{0,40}"
    r"\b(?:entire|full|whole|complete|all)\b[^.\n]{0,20}\b(?:conversation|chat|dialog(?:ue)?|context|system prompt)\b",
    "a private file": r"~/\.ssh\b|\bid_(?:rsa|ed25519)\b|\.aws/credentials|/etc/(?:passwd|shadow)\b|\.cursor/mcp\.json"
    r"|claude_desktop_config\.json",
}
_RULES = {what: re.compile(pattern, re.IGNORECASE) for what, pattern in _ORDERS.items()}
_WORD = re.compile(r"[\w.-]*\w")
_COMPOUND = re.compile(r".*[^\W_][_.-]+[^\W_].*|.*[a-z0-9][A-Z].*")
_SHORTEST_NAME = 6


def distinctive(names: Collection[str]) -> set[str]:
    """The names that cannot be ordinary words: those made of several."""
    return {name for name in names if len(name) >= _SHORTEST_NAME and _COMPOUND.fullmatch(name)}


def suspicions(tool: Mapping[str, Any], others: Collection[str] = ()) -> list[str]:
    """What is suspicious about a tool, a sentence's end each: "its description holds …".

    Args:
        tool: The tool as its server sent it.
        others: Distinctive names of tools that other servers have, and this one does not.
    """
    found = [
        f"its {where} {doubt}"
        for where, text in _texts(tool)
        for doubt in (*_hidden(text), *_orders(text), *_mentions(text, others))
    ]
    return list(dict.fromkeys(found))


def _texts(tool: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, where in (("name", "name"), ("title", "title"), ("description", "description")):
        if isinstance(text := tool.get(key), str):
            yield where, text
    for key, where in (("inputSchema", "input schema"), ("annotations", "annotations")):
        yield from ((where, text) for text in _strings(tool.get(key)))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _strings(item)


def _hidden(text: str) -> Iterator[str]:
    if hidden := hidden_in(text.replace("\r\n", "\n")):
        yield f"holds hidden characters: {', '.join(hidden[:5])}{' …' if len(hidden) > 5 else ''}"


def _orders(text: str) -> Iterator[str]:
    for what, rule in _RULES.items():
        if found := rule.search(text):
            yield f"holds {what}: “{_excerpt(found[0])}”" if what != "a private file" else f"names {what}: {found[0]}"


def _mentions(text: str, others: Collection[str]) -> Iterator[str]:
    if not others:
        return
    for word in dict.fromkeys(_WORD.findall(text)):
        if word in others:
            yield f"speaks of a tool of another server: {word}"


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _EXCERPT else flat[: _EXCERPT - 1] + "…"
