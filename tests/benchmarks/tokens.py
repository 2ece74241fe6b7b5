"""How many tokens a text is, by a real tokenizer where one is installed that brings its vocabulary along.

`uv run --with rs-bpe …` installs one: it holds OpenAI's o200k_base and downloads nothing when it runs.
"""

import importlib
from functools import cache
from typing import Any

TOKENIZER = "o200k_base, by rs-bpe"


@cache
def _tokenizer() -> Any:
    try:
        return importlib.import_module("rs_bpe.bpe").openai.o200k_base()
    except ImportError:
        return None


def tokens_are_counted() -> bool:
    """Whether there is a tokenizer."""
    return _tokenizer() is not None


def count_tokens(text: str) -> int:
    """How many tokens a text is; without a tokenizer, none."""
    tokenizer = _tokenizer()
    return len(tokenizer.encode(text.encode(errors="replace").decode())) if tokenizer is not None else 0
