"""Help for a name that was not found: the closest one, or all of them."""

from collections.abc import Sequence
from difflib import get_close_matches

_MOST_SHOWN = 20


def closest(name: str, known: Sequence[str], kind: str) -> str:
    """The sentence to put after "'name' not found"."""
    if not known:
        return f". There is no {kind}."
    if matches := get_close_matches(name, known, n=1, cutoff=0.6):
        return f". Did you mean '{matches[0]}'?"
    shown = ", ".join(f"'{each}'" for each in known[:_MOST_SHOWN])
    more = len(known) - _MOST_SHOWN
    return f". Available: {shown}{f' and {more} more' if more > 0 else ''}."
