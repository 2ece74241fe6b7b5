"""Changes to the text of a JSON file that leave everything else in it as it was: order, layout, comments.

Every change is checked: the new text must read as the old one with exactly the change made.
"""

import copy
import json
from collections.abc import Sequence
from typing import Any, cast

from mcp_workbench.config.json_text import Node, NotJson, parse, skip_gap
from mcp_workbench.errors import WorkbenchError


class UnsafeEdit(WorkbenchError):
    """A change that cannot be made to this text without risk to the rest of it."""


def set_value(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with `value` at `path`, making the objects on the way that are missing.

    Raises:
        NotJson: The text is not JSON, even with comments.
        UnsafeEdit: Something on the way is not an object, or the result would not read as meant.
    """
    root = parse(text)
    wanted = with_value(root.value, path, value)
    if root.value == wanted:
        return text
    changed = _edit(text, root, path, value)
    _check(changed, wanted)
    return changed


def remove_value(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at `path`, with the lines that it alone stood on; comments above it stay.

    Raises:
        NotJson: The text is not JSON, even with comments.
        UnsafeEdit: The result would not read as meant.
    """
    root = parse(text)
    parent = root
    for name in path[:-1]:
        if name not in parent.members:
            return text
        parent = parent.members[name]
    if path[-1] not in parent.members:
        return text
    changed = _cut(text, parent, path[-1])
    _check(changed, without_value(root.value, path))
    return changed


def indentation(text: str) -> str:
    """Return what the text indents by: that of its first indented line, or two spaces."""
    for line in text.splitlines():
        stripped = line.lstrip(" \t")
        if stripped and stripped != line:
            return line[: len(line) - len(stripped)]
    return "  "


def _edit(text: str, root: Node, path: Sequence[str], value: object) -> str:
    node, depth = root, 0
    while depth < len(path) and path[depth] in node.members:
        node = node.members[path[depth]]
        depth += 1
    if depth == len(path):
        rendered = _render(text, value, _line_indent(text, node.start))
        return text[: node.start] + rendered + text[node.end :]
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    return _insert(text, node, path[depth], value)


def _insert(text: str, target: Node, key: str, value: object) -> str:
    if _is_on_one_line(text, target) and target.members:
        return _insert_inline(text, target, key, value)
    outer = _line_indent(text, target.start)
    inner = _member_indent(text, target, outer)
    newline = _newline(text)
    member = f"{newline}{inner}{json.dumps(key, ensure_ascii=False)}: {_render(text, value, inner)}"
    if not target.members:
        body = text[target.start + 1 : target.end - 1].rstrip()
        return f"{text[: target.start + 1]}{body}{member}{newline}{outer}{text[target.end - 1 :]}"
    return _after_last_member(text, target, member)


def _insert_inline(text: str, target: Node, key: str, value: object) -> str:
    member = f" {json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
    return _after_last_member(text, target, member)


def _after_last_member(text: str, target: Node, member: str) -> str:
    end = max(node.end for node in target.members.values())
    comma = skip_gap(text, end)
    if text[comma] == ",":
        at = _end_of_line_comment(text, comma + 1)
        return f"{text[:at]}{member},{text[at:]}"
    at = _end_of_line_comment(text, end)
    return f"{text[:end]},{text[end:at]}{member}{text[at:]}"


def _cut(text: str, parent: Node, key: str) -> str:
    member = parent.members[key]
    start, end = cast("int", member.key_start), member.end
    earlier = [node.end for node in parent.members.values() if node.end <= start]
    comma = skip_gap(text, end)
    if text[comma] == ",":
        end = comma + 1
    elif earlier:  # the last one goes, and the comma before it with it
        before = skip_gap(text, max(earlier))
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    end = _end_of_line_comment(text, end)
    return text[: _line_start(text, start, end)] + text[_line_end(text, start, end) :]


def _line_start(text: str, start: int, end: int) -> int:
    """Where the line begins, if nothing else stands on it; else where the space before the member does."""
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip() and line > 0 and _line_end(text, start, end) > end:
        return line
    return start if text[end : end + 1].isspace() else len(text[:start].rstrip(" \t"))


def _line_end(text: str, start: int, end: int) -> int:
    """Behind the end of the line, if nothing else stands before or after on it."""
    line = text.rfind("\n", 0, start) + 1
    newline = text.find("\n", end)
    if newline >= 0 and not text[end:newline].strip() and not text[line:start].strip():
        return newline + 1
    rest = len(text[end:]) - len(text[end:].lstrip(" \t"))
    return end + rest if text[start - 1 : start].isspace() or text[start - 1 : start] == "{" else end


def _end_of_line_comment(text: str, at: int) -> int:
    """Keep a comment that stands behind a member on its line with that member."""
    line_end = text.find("\n", at)
    tail = text[at : line_end if line_end >= 0 else len(text)].rstrip("\r")
    return at + len(tail) if tail.lstrip().startswith("//") else at


def _render(text: str, value: object, indent: str) -> str:
    lines = json.dumps(value, indent=indentation(text), ensure_ascii=False).split("\n")
    return f"{_newline(text)}{indent}".join(lines)


def _member_indent(text: str, target: Node, outer: str) -> str:
    for node in target.members.values():
        indent = _line_indent(text, node.start)
        if len(indent) > len(outer):
            return indent
    return outer + indentation(text)


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _is_on_one_line(text: str, node: Node) -> bool:
    return "\n" not in text[node.start : node.end]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def with_value(root: Any, path: Sequence[str], value: object) -> Any:
    """Return a document with `value` at `path`, the objects on the way being made where they are missing.

    Raises:
        UnsafeEdit: Something on the way is not an object.
    """
    wanted = copy.deepcopy(root)
    here: Any = wanted
    for depth, name in enumerate(path):
        members = _members(here, path[:depth])
        if depth == len(path) - 1:
            members[name] = value
        else:
            here = members.setdefault(name, {})
    return wanted


def without_value(root: Any, path: Sequence[str]) -> Any:
    """Return a document without what stands at `path`."""
    wanted = copy.deepcopy(root)
    here: Any = wanted
    for name in path[:-1]:
        here = here[name]
    del here[path[-1]]
    return wanted


def _members(value: Any, path: Sequence[str]) -> dict[str, Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise UnsafeEdit(f"{'.'.join(path) or 'the file'} is not a JSON object")


def _check(changed: str, wanted: object) -> None:
    try:
        result = parse(changed).value
    except NotJson:
        result = None
    if result != wanted:
        raise UnsafeEdit("its layout is too unusual to be changed without risk")
