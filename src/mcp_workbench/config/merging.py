"""Several config files as one: toolboxes by name, servers by name within them, everything else by its key.

A later file wins. It replaces a server whole, and a server that it disables is gone. Every part of the result knows the
file that it is from, so a problem of it names that file; what was replaced has no problems.
"""

from collections.abc import Iterable, Sequence

from mcp_workbench.config.document import Json, JsonPath, Problem
from mcp_workbench.config.reading import ConfigFile, ServerPath


class Merged:
    """What several files come to."""

    def __init__(self, files: Sequence[ConfigFile]) -> None:
        self.files = files
        self.value: dict[str, Json] = {}
        self.disabled: dict[tuple[str, str], None] = {}
        self._owners: dict[JsonPath, ConfigFile] = {}
        for file in files:
            self._drop_disabled(file)
            self._add(file)

    def owner(self, path: JsonPath) -> ConfigFile:
        """The file that a place of the result is from."""
        nearest = (path[:length] for length in range(len(path), 0, -1))
        return next((self._owners[part] for part in nearest if part in self._owners), self.files[-1])

    def live(self, file: ConfigFile, problems: Iterable[Problem]) -> list[Problem]:
        """Those problems of a file that are about something which no later file has replaced."""
        replaced = {file.in_source(path) for path in self._places(file) if self._owners.get(path) is not file}
        depths = {len(path) for path in replaced}
        return [each for each in problems if not any(each.path[:depth] in replaced for depth in depths)]

    def server_of(self, file: ConfigFile, path: JsonPath) -> ServerPath | None:
        """The server of the result inside whose entry a place of a file is, as the file spells it."""
        if len(path) < 5:
            return None
        return next((server for server, _ in file.servers() if file.in_source(server) == path[:4]), None)

    def _places(self, file: ConfigFile) -> Iterable[JsonPath]:
        yield from ((key,) for key in file.value if key != "toolboxes")
        toolboxes = file.value.get("toolboxes")
        for name, box in toolboxes.items() if isinstance(toolboxes, dict) else ():
            if isinstance(box, dict):
                yield from (("toolboxes", name, key) for key in box if key != "mcpServers")
        yield from (path for path, _ in file.servers())

    def _drop_disabled(self, file: ConfigFile) -> None:
        for path in file.disabled:
            toolbox, server = str(path[1]), str(path[3])
            self.disabled[toolbox, server] = None
            box = _object(_object(self.value.get("toolboxes")).get(toolbox))
            _object(box.get("mcpServers")).pop(server, None)

    def _add(self, file: ConfigFile) -> None:
        for key, item in file.value.items():
            if key == "toolboxes" and isinstance(item, dict):
                self._add_toolboxes(file, item)
            elif key != "toolMode" or self.value.get(key, "proxy") == "proxy":  # what is no mode at all stays an error
                self._put(self.value, (key,), item, file)

    def _add_toolboxes(self, file: ConfigFile, boxes: dict[str, Json]) -> None:
        toolboxes = self._object_at(self.value, ("toolboxes",), file)
        for name, box in boxes.items():
            path = ("toolboxes", name)
            if not isinstance(toolboxes.get(name, {}), dict):
                continue  # what is no toolbox stays, to be told of
            if not isinstance(box, dict):
                self._put(toolboxes, path, box, file)
                continue
            merged = self._object_at(toolboxes, path, file)
            for key, item in box.items():
                if key == "mcpServers" and isinstance(item, dict):
                    self._add_servers(file, merged, name, item)
                else:
                    self._put(merged, (*path, key), item, file)

    def _add_servers(self, file: ConfigFile, box: dict[str, Json], toolbox: str, servers: dict[str, Json]) -> None:
        path = ("toolboxes", toolbox, "mcpServers")
        if not isinstance(box.get("mcpServers", {}), dict):
            return
        merged = self._object_at(box, path, file)
        for name, entry in servers.items():
            self._put(merged, (*path, name), entry, file)
            self.disabled.pop((toolbox, name), None)

    def _object_at(self, parent: dict[str, Json], path: tuple[str, ...], file: ConfigFile) -> dict[str, Json]:
        """The object of the result at a path, made anew if there is none."""
        self._owners[path] = file
        if not isinstance(parent.get(path[-1]), dict):
            parent[path[-1]] = {}
        return _object(parent[path[-1]])

    def _put(self, parent: dict[str, Json], path: tuple[str, ...], item: Json, file: ConfigFile) -> None:
        parent[path[-1]] = item
        self._owners[path] = file


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
