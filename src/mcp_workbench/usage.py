"""A command line that says in one line what is wrong with it, what was probably meant, and where to read more."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from mcp_workbench.suggestions import closest

_NO_VALUE = re.compile(r"argument (?:.*/)?(\S+): expected one argument")
_MISSING = re.compile(r"the following arguments are required: (.+)")


class Parser(argparse.ArgumentParser):
    """A parser that knows what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        sentence = _NO_VALUE.sub(r"\1 needs a value", _MISSING.sub(r"missing: \1", message))
        self.exit(2, f"mcp-workbench: {sentence}\nTry: {self.prog} --help\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """End with status 2 because of words that mean nothing here."""
        option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
        if option is None:
            self.error(f"'{words[0]}' is one word too many")
        known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        self.error(f"there is no option '{option}'{closest(option, known, 'option')}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, as argparse has it, but with the closest of them."""
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            kind = (action.metavar if isinstance(action.metavar, str) else action.dest).lower().replace("_", " ")
            raise argparse.ArgumentError(None, f"there is no {kind} '{value}'{closest(str(value), known, kind)}")
