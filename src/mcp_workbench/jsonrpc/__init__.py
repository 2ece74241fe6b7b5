"""JSON-RPC without MCP: the codec, pipes on the event loop, and the peer with its ids and outcomes."""
