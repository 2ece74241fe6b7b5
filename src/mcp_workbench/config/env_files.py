"""Env files: variables in dotenv format, as they stand in the file and without looking inside their values.

What is odd about a file is told and not guessed at. The library that reads the format is imported only for a file.
"""

import io
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_READABLE_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH


@dataclass(frozen=True)
class EnvFile:
    """What came of reading an env file."""

    path: Path
    values: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    notes: tuple[str, ...] = ()
    """What the reader should know of it; each names the file."""
    problem: str | None = None
    """Why it cannot be used."""


def read_env_file(path: Path) -> EnvFile:
    """Read an env file; one that is not there has no variables."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "no ordinary file"
            return EnvFile(path, problem=f"the env file {path} is {kind}; name a file")
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return EnvFile(path, notes=(f"{path}: there is no such env file; its variables are taken as not set",))
    except UnicodeDecodeError:
        return EnvFile(path, problem=f"the env file {path} is not UTF-8 text; save it as UTF-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is not the name of a file"
        return EnvFile(path, problem=f"the env file {path} cannot be read ({reason})")
    if "\0" in text:
        return EnvFile(path, problem=f"the env file {path} contains NUL characters; save it as UTF-8 text")
    values, notes = _parsed(text, path)
    return EnvFile(path, values, (*_exposure(path, status.st_mode), *notes))


def _parsed(text: str, path: Path) -> tuple[dict[str, str], list[str]]:
    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    notes: list[str] = []
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            notes.append(f"{path}:{binding.original.line}: this line cannot be read; write it as NAME=value")
        elif binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values, notes


def _exposure(path: Path, mode: int) -> Iterator[str]:
    if os.name == "posix" and mode & _READABLE_BY_OTHERS:
        yield f"{path}: other users of this machine can read it; run `chmod 600 {path}`"
