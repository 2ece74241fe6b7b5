# pyright: basic, reportMissingImports=false
"""semantic-kernel: an MCP server as a plugin."""

import anyio
from common import ARGS, COMMAND, OPEN, USE, report
from semantic_kernel import Kernel
from semantic_kernel.connectors.mcp import MCPStdioPlugin
from semantic_kernel.functions import KernelArguments


async def main() -> None:
    kernel = Kernel()
    async with MCPStdioPlugin(name="workbench", command=COMMAND, args=ARGS) as plugin:
        added = kernel.add_plugin(plugin)
        opened = await kernel.invoke(added["open_toolbox"], KernelArguments(**OPEN))
        used = await kernel.invoke(added["use_tool"], KernelArguments(**USE))
        report(added.functions, [str(item) for item in opened.value], [str(item) for item in used.value])


anyio.run(main)
