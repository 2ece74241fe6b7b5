"""A bare `MCPServer` with no tools: what the SDK alone costs in time to start and in memory."""

from mcp.server import MCPServer

if __name__ == "__main__":
    MCPServer("bare").run()
