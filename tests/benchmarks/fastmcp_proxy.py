"""The servers of an `mcpServers` file behind one, the way that serves fastmcp best.

One proxy for each server keeps it running between calls; one proxy for a whole file starts all of them for every call.
It runs in an environment of its own, which is why fastmcp is not imported in the ordinary way.
"""

import importlib
import json
import sys
from pathlib import Path

if __name__ == "__main__":
    fastmcp, proxies = importlib.import_module("fastmcp"), importlib.import_module("fastmcp.server")
    front = fastmcp.FastMCP("front")
    for name, entry in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["mcpServers"].items():
        front.mount(proxies.create_proxy({"mcpServers": {name: entry}}), namespace=name)
    front.run(show_banner=False)
