"""What the client sees: the MCP server, its stdio, its texts and schemas."""
