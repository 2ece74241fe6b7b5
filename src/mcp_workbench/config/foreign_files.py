"""Other clients' config files, read as they are: their servers are one toolbox, named after what the file is."""

from pathlib import Path

from mcp_workbench.config.document import Json, JsonPath

_SERVER_KEYS = ("mcpServers", "servers")
_BY_PLACE = {
    ".vscode": ("vscode", "VS Code"),
    "Code": ("vscode", "VS Code"),
    ".cursor": ("cursor", "Cursor"),
    ".gemini": ("gemini", "Gemini CLI"),
    "windsurf": ("windsurf", "Windsurf"),
}
_BY_NAME = {
    "claude_desktop_config.json": ("claude-desktop", "Claude Desktop"),
    ".mcp.json": ("claude-code", "Claude Code"),
    ".claude.json": ("claude-code", "Claude Code"),
    "cline_mcp_settings.json": ("cline", "Cline"),
}


class ForeignFile:
    """Another client's document as ours, and the way back from our paths to its own."""

    def __init__(self, document: dict[str, Json], path: Path) -> None:
        self._key = next(key for key in _SERVER_KEYS if key in document)
        name, owner = _origin(path, self._key)
        box: dict[str, Json] = {"description": f"The servers of {owner}", "mcpServers": document[self._key]}
        self.document: dict[str, Json] = {"toolboxes": {name: box}}
        if "inputs" in document:
            self.document["inputs"] = document["inputs"]

    def in_document(self, path: JsonPath) -> JsonPath:
        """The path of the same place in the client's own document."""
        return (self._key, *path[3:]) if path[2:3] == ("mcpServers",) else path


def is_foreign(document: dict[str, Json]) -> bool:
    """Whether a document is another client's: it has servers at its top, and no toolboxes however spelt."""
    ours = any(key.casefold().replace("_", "").startswith("toolbox") for key in document)
    return not ours and any(isinstance(document.get(key), dict) for key in _SERVER_KEYS)


def _origin(path: Path, key: str) -> tuple[str, str]:
    """The name of the toolbox, and what people call the client."""
    if path.name in _BY_NAME:
        return _BY_NAME[path.name]
    folders = Path(path).absolute().parts[:-1]
    known = next((_BY_PLACE[folder] for folder in reversed(folders) if folder in _BY_PLACE), None)
    if known and path.name in ("mcp.json", "mcp_config.json", "settings.json"):
        return known
    return ("vscode", "VS Code") if key == "servers" else (path.stem.lstrip(".") or "servers", path.name)
