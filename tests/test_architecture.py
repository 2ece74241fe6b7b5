"""Which package may import which: dependencies point one way, and nothing points back."""

import ast
from collections.abc import Iterator
from pathlib import Path

import mcp_workbench

ROOT = Path(mcp_workbench.__file__).parent

SHARED = {
    "log_file",
    "recorder",
    "running",
    "__init__",
    "errors",
    "redaction",
    "escapes",
    "suggestions",
    "logs",
    "signals",
    "directories",
    "hidden_characters",
    "private_files",
    "file_lock",
}
"""What every package may use, and what uses no package."""

MAY_IMPORT = {
    "jsonrpc": set[str](),
    "config": set[str](),
    "downstream.transports": {"config", "jsonrpc"},
    "downstream": {"config", "jsonrpc", "downstream.transports"},
    "toolboxes": {"config", "jsonrpc", "downstream"},
    "upstream": {"config", "jsonrpc", "downstream", "toolboxes"},
    "clients": {"config"},
    "commands": {"clients", "config", "jsonrpc", "downstream", "downstream.transports", "toolboxes", "upstream"},
}

FOREIGN = {
    "config": {"anyio", "mcp", "mcp_types", "rich", "subprocess"},
    "jsonrpc": {"mcp", "mcp_types", "rich"},
    "toolboxes": {"rich", "subprocess"},
    "upstream": {"rich", "subprocess"},
    "clients": {"anyio", "mcp", "mcp_types", "rich"},
}
"""Packages from elsewhere that a folder knows nothing of."""

EXCEPTIONS = {("config/commands.py", "subprocess")}
"""`${cmd:}` variables are what running a program is for."""


def package_of(module: str) -> str:
    """The package that a module of ours stands in; its own name at the top level."""
    parts = module.split(".")[1:]
    if parts[:2] == ["downstream", "transports"]:
        return "downstream.transports"
    return parts[0] if parts else "__init__"


def imports_of(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules() -> Iterator[tuple[str, Path]]:
    """Each file in a package, with the package's name."""
    for path in sorted(ROOT.rglob("*.py")):
        dotted = ".".join(("mcp_workbench", *path.relative_to(ROOT).with_suffix("").parts))
        if path.parent != ROOT:
            yield package_of(dotted), path


def test_every_import_points_down() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package, path in modules()
        for name in imports_of(path)
        if name.startswith("mcp_workbench.")
        and package_of(name) not in {package, *MAY_IMPORT[package], *SHARED}
        # `from mcp_workbench import x` names an attribute such as __version__, not a module
        and not (package_of(name).startswith("__"))
    ]
    assert wrong == []


def test_packages_know_nothing_of_what_is_not_theirs() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package, path in modules()
        for name in imports_of(path)
        if name.split(".")[0] in FOREIGN.get(package, ())
        and (path.relative_to(ROOT).as_posix(), name.split(".")[0]) not in EXCEPTIONS
    ]
    assert wrong == []


def test_what_everybody_uses_uses_no_package() -> None:
    wrong = [
        f"{name}.py imports {imported}"
        for name in SHARED - {"__init__"}
        if (ROOT / f"{name}.py").exists()
        for imported in imports_of(ROOT / f"{name}.py")
        if imported.startswith("mcp_workbench.") and package_of(imported) not in {*SHARED, "__version__"}
    ]
    assert wrong == []


def test_the_map_names_every_package() -> None:
    assert {package for package, _ in modules()} == set(MAY_IMPORT)
