"""From the names that a person typed to the server that they want to log in at, or out of."""

from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.config.servers import RemoteServer
from mcp_workbench.downstream.transports.login.target import Target, target_of
from mcp_workbench.errors import UnknownServer, UnknownToolbox, WorkbenchError
from mcp_workbench.suggestions import closest


def remote_target(loaded: LoadedConfig, toolbox: str, server: str) -> Target:
    """The login that the config's entry of a server stands for.

    Raises:
        WorkbenchError: There is no such server, or none that anybody logs in at.
    """
    entry = _remote_entry(loaded, toolbox, server)
    target = target_of(toolbox, server, entry)
    if target is None:
        raise WorkbenchError(
            f"Server '{server}' in toolbox '{toolbox}' gets its credentials from its entry in the config: there is "
            "nothing to log in to"
        )
    return target


def _remote_entry(loaded: LoadedConfig, toolbox: str, server: str) -> RemoteServer:
    toolboxes = loaded.config.toolboxes
    if (toolbox, server) in loaded.disabled:
        raise WorkbenchError(f"Server '{server}' in toolbox '{toolbox}' is disabled in {loaded.path}")
    if toolbox not in toolboxes:
        raise UnknownToolbox(
            f"Toolbox '{toolbox}' not found in configuration" + closest(toolbox, list(toolboxes), "toolbox")
        )
    servers = toolboxes[toolbox].servers
    remote = [name for name, entry in servers.items() if isinstance(entry, RemoteServer)]
    if server not in servers:
        raise UnknownServer(
            f"Server '{server}' not found in toolbox '{toolbox}'" + closest(server, remote, "remote server in it")
        )
    entry = servers[server]
    if not isinstance(entry, RemoteServer):
        raise WorkbenchError(
            f"Server '{server}' in toolbox '{toolbox}' is a program on this machine: logins are for servers with a "
            f"'url'{closest('', remote, 'remote server in this toolbox')}"
        )
    return entry
