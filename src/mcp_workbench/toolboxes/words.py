"""The words of a text, as a search compares them.

Names are split where people join words: at `_`, `-`, `.`, `/`, and where camelCase begins a new one (which is kept
whole too: `GitHub` is found as `git hub` and as `github`). Words that say nothing about a tool are left out, the others
are cut to their stems. Chinese, Japanese and Korean, which put nothing between words, become pairs of characters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import cast

from snowballstemmer.english_stemmer import EnglishStemmer  # pyright: ignore[reportMissingTypeStubs] - there are none

_GRAMMAR = """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers him his how
    i if in into is it its itself just let me more most must my no nor not now of off on once only or other our out over
    own please same shall she should so some such than that the their them then there these they this those through to
    too under until up us very want was we were what when where whether which while who whom whose why will with would
    you your
"""
STOP_WORDS = frozenset(_GRAMMAR.split())
"""English words of grammar and of politeness."""

_RUN = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(
    "[\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_stem_english = cast("Callable[[str], str]", EnglishStemmer().stemWord)  # pyright: ignore[reportUnknownMemberType]


def words(text: str) -> list[str]:
    """The stems of a text's words, in order. Where every word is a stop word, those are kept: they are all there is."""
    return [stem for _, stem in words_and_stems(text)]


def words_and_stems(text: str) -> list[tuple[str, str]]:
    """The same words, each as it is written and as its stem."""
    found = list(_split(text))
    telling = [word for word in found if word not in STOP_WORDS]
    return [(word, _stem(word)) for word in telling or found]


def _split(text: str) -> Iterator[str]:
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        parts = _HUMP.split(run)
        for part in parts:
            yield from _unspaced(part.casefold())
        if len(parts) > 1:
            yield run.casefold()


def _unspaced(run: str) -> Iterator[str]:
    """A run of letters, with what has no spaces in it as pairs of characters."""
    end = 0
    for found in _UNSPACED.finditer(run):
        if found.start() > end:
            yield run[end : found.start()]
        yield from _pairs(found[0])
        end = found.end()
    if end < len(run):
        yield run[end:]


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return _stem_english(word) if word.isascii() else word
