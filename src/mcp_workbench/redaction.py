"""Keeping secrets out of everything that the workbench writes.

A `Redactor` is told values and hides them, however they are written: as they are, escaped, also several times over, as
base64 on its own or within something longer, as hex, whole or line by line. It hides secrets, not words. A value that
looks like a secret is hidden wherever it stands. One that could be a word, a name or a number is hidden where it stands
as a whole token, and one that everybody's settings hold (`info`, `production`, `true`) nowhere.

One instance serves a whole process. It may learn values at any time, from any thread.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from mcp_workbench.escapes import Places, unescaped

_MASK = "***"
_SHORTEST = 4
_SHORTEST_BASE64 = 5
_HEAD = 4
"""By how many first characters a secret is looked for; no form of one is shorter."""

_LEVELS = 3
"""How often escaped a secret is still found; JSON in JSON in an address is."""

_LONGEST_ESCAPE = 6
"""How many characters one may become, about; for a text that must be cut."""

# What settings are commonly set to: nobody could want it hidden, and messages could not be read without it.
_COMMON = """
    true false null none undefined auto automatic default enabled disabled enable disable always never yes no
    trace debug verbose info information notice warn warning warnings error errors fatal critical silent quiet
    test tests testing prod production develop development staging stage preview sandbox local localhost remote global
    live demo beta alpha stable latest nightly main master release
    read write readonly read-only readwrite read-write read_only read_write append create update delete
    full basic simple minimal strict safe fast standard advanced public private shared internal external
    http https stdio websocket rest json jsonl jsonc yaml text plain html markdown utf8 utf-8 ascii english
    en_us en_us.utf-8 c.utf-8 en-us application/json text/plain text/event-stream bearer
    node python python3 java docker linux darwin windows macos chrome chromium firefox webkit headless
    sqlite postgres postgresql mysql redis mongodb file files memory disk
"""
_WORDS = frozenset(_COMMON.split())
_MOST_DIGITS = 9
_MOST_DIGITS_OF_WORD = 4
_LONGEST_WORD = 20
_SHORTEST_HUMP = 4
_BETWEEN_WORDS = re.compile(r"[\W_]+")


class _Needles:
    """Texts to look for, found by their first characters in one pass."""

    def __init__(self, texts: Iterable[str], *, within_words: bool = False) -> None:
        self.longest = 0
        self._by_head: dict[str, list[tuple[str, bool]]] = {}
        for text in texts:
            self._by_head.setdefault(text[:_HEAD], []).append((text, not within_words and _is_words(text)))
            self.longest = max(self.longest, len(text))
        self._heads = re.compile(_any_of(self._by_head)) if self._by_head else None

    def find(self, text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Where each stands, overlapping ones too."""
        end = len(text) if end is None else end
        found = self._heads and self._heads.search(text, start, end)
        while self._heads and found:
            start = found.start()
            for needle, is_words in self._by_head[found[0]]:
                after = start + len(needle)
                if text.startswith(needle, start, end) and not (is_words and _is_part(text, start, after)):
                    yield start, after
            found = self._heads.search(text, start + 1, end)


class _Hidden:
    """What a set of secrets looks like in a text."""

    def __init__(self, secrets: frozenset[str]) -> None:
        self.secrets = secrets
        self._parts = {part for secret in secrets for part in _parts(secret)}
        self._plain = _Needles({form for part in self._parts for form in _levels_of(part)})
        shortest = min((_base64_length(part) for part in self._parts), default=_SHORTEST_BASE64)
        self._run = re.compile(rf"[A-Za-z0-9+/_-]{{{max(shortest, _SHORTEST_BASE64)},}}")
        self.reach = _LONGEST_ESCAPE * self._plain.longest
        """How much of a text one of them may take, written in the longest way."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The stretches to hide, in order, none overlapping."""
        if not self._parts:
            return []
        spans = [*self._find(text)]
        origins: list[Places] = []
        for inner, places in _unescaped_again(text):
            origins.insert(0, places)
            spans += ((_origin(start, origins), _origin(end, origins)) for start, end in self._find(inner))
        return _merged(spans)

    def _find(self, text: str) -> Iterator[tuple[int, int]]:
        yield from self._plain.find(text)
        for run in self._run.finditer(text):
            yield from self._encoded.find(text, *run.span())

    @cached_property
    def _encoded(self) -> _Needles:
        return _Needles((form for part in self._parts for form in _encodings(part)), within_words=True)


class Redactor:
    """Replaces secrets in text. What is shorter than four characters is not worth hiding."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secrets)
        self._prepared: _Hidden | None = None

    def learn(self, values: Iterable[str]) -> None:
        """Hide these values too, from now on."""
        self._secrets |= frozenset(values)

    def __call__(self, text: str) -> str:
        """`text` without the secrets."""
        return _masked(text, self._hidden().spans(text), len(text))

    def beginning(self, text: str, length: int) -> str:
        """The beginning of `text` without the secrets, cut only then: half a secret could not be recognised."""
        reach = self._hidden().reach
        window = text[: 4 * length + 2 * reach]
        spans = self._hidden().spans(window)
        end = len(window) if len(window) == len(text) else _cut(spans, len(window) - reach)
        return _masked(window, spans, end)[:length]

    def cut(self, text: str) -> int:
        """Where a text that goes on can be cut with no secret lying across; 0 if it is too short to know."""
        hidden = self._hidden()
        return max(0, _cut(hidden.spans(text), len(text) - hidden.reach))

    def _hidden(self) -> _Hidden:
        """Made when it is first needed, and again when there is more to hide."""
        secrets, prepared = self._secrets, self._prepared
        if prepared is None or prepared.secrets is not secrets:
            self._prepared = prepared = _Hidden(secrets)
        return prepared


def _unescaped_again(text: str) -> Iterator[tuple[str, Places]]:
    """The text with its escapes undone, and so on, level by level."""
    for _ in range(_LEVELS):
        if not (level := unescaped(text)):
            return
        yield level
        text = level[0]


def _origin(at: int, origins: Iterable[Places]) -> int:
    for places in origins:
        at = places.origin(at)
    return at


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _cut(spans: Iterable[tuple[int, int]], at: int) -> int:
    """The place to cut at, or the end of the secret that lies across it."""
    return next((end for start, end in spans if start < at < end), at)


def _masked(text: str, spans: Sequence[tuple[int, int]], length: int) -> str:
    if not spans:
        return text[:length]
    shown: list[str] = []
    at = 0
    for start, end in spans:
        if end <= length:
            shown += (text[at:start], _MASK)
            at = end
    return "".join((*shown, text[at:length]))


def _parts(secret: str) -> Iterator[str]:
    """The secret, and each of its lines, since logs are read and quoted by the line."""
    for part in (secret, secret.strip(), *(line.strip() for line in secret.splitlines())):
        if len(part) >= _SHORTEST and not part.isspace() and part.casefold() not in _WORDS:
            yield part


def _levels_of(secret: str) -> Iterator[str]:
    """The secret, and what is left of it where escapes are undone: it may hold what looks like some."""
    yield secret
    yield from (level for level, _ in _unescaped_again(secret) if len(level) >= _SHORTEST)


def _encodings(secret: str) -> Iterator[str]:
    data = secret.encode(errors="surrogatepass")
    yield data.hex()
    yield data.hex().upper()
    for before in range(3):
        core = _base64_of(data, before)
        if len(core) >= _SHORTEST_BASE64:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _base64_of(data: bytes, before: int) -> str:
    """The characters that say nothing but the secret, when so many bytes of something else stand before it."""
    return b64encode(b"-" * before + data).decode()[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]


def _base64_length(secret: str) -> int:
    """How many such characters there are at least."""
    return (8 * len(secret) - 5) // 6


def _is_words(value: str) -> bool:
    """Whether it may be words, names and numbers, or a path of them: parts of ordinary texts are like it."""
    return all(_is_word(part) for part in _BETWEEN_WORDS.split(value) if part)


def _is_word(part: str) -> bool:
    letters = part.rstrip("0123456789")
    digits = len(part) - len(letters)
    if not letters:
        return digits <= _MOST_DIGITS
    humps = sum(low.islower() and up.isupper() for low, up in pairwise(letters))
    return (
        letters.isalpha()
        and len(letters) <= _LONGEST_WORD
        and digits <= _MOST_DIGITS_OF_WORD
        and humps * _SHORTEST_HUMP <= len(letters)
    )


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a stretch begins or ends within a word."""
    return any(at and at < len(text) and _is_letter(text[at - 1]) and _is_letter(text[at]) for at in (start, end))


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def _any_of(texts: Iterable[str]) -> str:
    """A pattern for any of these, branching at each character: a plain alternation would try each at each place."""
    by_first: dict[str, set[str]] = {}
    for text in texts:
        if text:
            by_first.setdefault(text[0], set()).add(text[1:])
    branches = [re.escape(first) + _any_of(rest) for first, rest in by_first.items()]
    return f"(?:{'|'.join(branches)})" if len(branches) > 1 else "".join(branches)
