"""MCP Workbench: one MCP server in front of all your others."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("mcp-workbench")
