"""Ranking tools by a query in words: BM25F over name, description, parameters and server.

The formula and its constants are the usual ones (Robertson and Zaragoza, k1 1.2, b 0.75). A word of a name counts
twice; parameters and the server's name help a little. Two things make up for how tools are named: words that mean the
same about a tool (`make` and `create`) stand in for one another, and a word is also found inside a longer one of a name
(`airqualityforecast`), both for less than the word itself.

Everything that can be is computed when the index is made, so a query only adds up.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mcp_workbench.toolboxes.words import words, words_and_stems

_K1 = 1.2
_B = 0.75
_WEIGHTS = {"name": 2.0, "description": 1.0, "parameters": 0.3, "server": 0.5}
_SYNONYM = 0.4
_INSIDE = 0.5
_SHORTEST_INSIDE = 4
_MOST_WORDS = 100
"""Of a query; nobody asks for more, and a pasted text must not take for ever."""

_LONGEST_TEXT = 20_000
"""Characters of a description that are looked at."""

_DEEPEST = 4

_SYNONYMS = (
    "create make add new generate insert",
    "delete remove erase drop clear",
    "get fetch retrieve read show view load",
    "list enumerate",
    "update edit modify change alter",
    "search find lookup query locate",
    "directory folder",
    "picture image photo",
    "email mail",
    "rename move",
    "run execute",
    "copy duplicate clone",
    "url link website webpage",
    "database db",
    "repository repo",
)
"""What people and authors of tools call the same thing."""


@dataclass(frozen=True)
class Document:
    """A tool that can be found."""

    toolbox: str
    server: str
    tool: Mapping[str, Any]


class ToolIndex:
    """An index over some tools, which is made once and never changes."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        fields = [_fields(document) for document in documents]
        self._postings = _postings(fields)
        self._names = _Names(fields)

    def search(self, query: str, limit: int, wanted: Callable[[Document], bool] = lambda _: True) -> list[Document]:
        """The tools that fit best, best first; those that fit equally well in the order that they came in."""
        scores: dict[int, float] = defaultdict(float)
        for word, stem in list(dict.fromkeys(words_and_stems(query)))[:_MOST_WORDS]:
            for document, score in self._scores(word, stem).items():
                scores[document] += score
        ranked = sorted(scores, key=lambda document: (-scores[document], document))
        found = (self.documents[document] for document in ranked)
        return [document for document, _ in zip(filter(wanted, found), range(limit), strict=False)]

    def _scores(self, word: str, stem: str) -> Mapping[int, float]:
        """What one word of a query adds to each tool: itself or what stands in for it, whichever adds more."""
        scores = dict(self._postings.get(stem, ()))
        for other in _SAME.get(stem, ()):
            for document, score in self._postings.get(other, ()):
                scores[document] = max(scores.get(document, 0.0), _SYNONYM * score)
        inside = self._names.holding(word)
        score = _INSIDE * _rarity(len(inside), len(self.documents))
        for document in inside:
            scores[document] = max(scores.get(document, 0.0), score)
        return scores


class _Names:
    """Which names hold a word inside a longer one: looked up in one long text, which is faster than one by one."""

    def __init__(self, fields: Sequence[Mapping[str, Sequence[str]]]) -> None:
        holders: dict[str, set[int]] = defaultdict(set)
        for document, texts in enumerate(fields):
            for word in texts["name"]:
                holders[word].add(document)
        self._holders = list(holders.items())
        self._text = "\n".join(holders)
        self._starts = [0]
        for word in holders:
            self._starts.append(self._starts[-1] + len(word) + 1)

    def holding(self, word: str) -> set[int]:
        """The tools with such a name."""
        found: set[int] = set()
        at = self._text.find(word) if len(word) >= _SHORTEST_INSIDE else -1
        while at >= 0:
            name, documents = self._holders[bisect_right(self._starts, at) - 1]
            if name != word:
                found |= documents
            at = self._text.find(word, at + 1)
        return found


def _fields(document: Document) -> Mapping[str, list[str]]:
    tool = document.tool
    title, description = tool.get("title"), tool.get("description")
    told = [text[:_LONGEST_TEXT] for text in (title, description) if isinstance(text, str)]
    return {
        "name": words(str(tool["name"])),
        "description": words("\n".join(told)),
        "parameters": words("\n".join(_parameters(tool.get("inputSchema")))[:_LONGEST_TEXT]),
        "server": words(document.server),
    }


def _parameters(schema: object, depth: int = 0) -> Iterator[str]:
    """The names and descriptions of a schema's parameters, those of nested objects included."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    own = cast(dict[str, Any], schema)
    properties = own.get("properties")
    if isinstance(properties, dict):
        for name, parameter in cast(dict[str, Any], properties).items():
            yield name
            if isinstance(parameter, dict):
                described: object = cast(dict[str, Any], parameter).get("description")
                yield from [described] if isinstance(described, str) else []
            yield from _parameters(cast(object, parameter), depth + 1)
    yield from _parameters(own.get("items"), depth + 1)


def _postings(fields: Sequence[Mapping[str, Sequence[str]]]) -> Mapping[str, list[tuple[int, float]]]:
    """For each word the tools that have it, and what it adds to their scores."""
    average = {name: sum(len(texts[name]) for texts in fields) / len(fields) or 1.0 for name in _WEIGHTS if len(fields)}
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for document, texts in enumerate(fields):
        for word, weight in _weights(texts, average).items():
            found[word].append((document, weight * (_K1 + 1) / (weight + _K1)))
    return {
        word: [(document, _rarity(len(documents), len(fields)) * score) for document, score in documents]
        for word, documents in found.items()
    }


def _weights(texts: Mapping[str, Sequence[str]], average: Mapping[str, float]) -> Mapping[str, float]:
    weights: dict[str, float] = defaultdict(float)
    for name, own in texts.items():
        length = 1 - _B + _B * len(own) / average[name]
        for word, count in Counter(own).items():
            weights[word] += _WEIGHTS[name] * count / length
    return weights


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _same_meaning() -> Mapping[str, set[str]]:
    same: dict[str, set[str]] = defaultdict(set)
    for group in _SYNONYMS:
        members = set(words(group))
        for word in members:
            same[word] |= members - {word}
    return same


_SAME = _same_meaning()
