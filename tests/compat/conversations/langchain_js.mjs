// @langchain/mcp-adapters.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

import { ARGS, COMMAND, OPEN, report, USE } from "./common.mjs";

const servers = { workbench: { transport: "stdio", command: COMMAND, args: ARGS } };
const client = new MultiServerMCPClient({ mcpServers: servers, prefixToolNameWithServerName: false });
const tools = Object.fromEntries((await client.getTools()).map((tool) => [tool.name, tool]));
report(Object.keys(tools), await tools.open_toolbox.invoke(OPEN), await tools.use_tool.invoke(USE));
await client.close();
