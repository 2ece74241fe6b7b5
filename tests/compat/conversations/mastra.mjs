// @mastra/mcp.
import { MCPClient } from "@mastra/mcp";

import { ARGS, COMMAND, OPEN, report, USE } from "./common.mjs";

const client = new MCPClient({ servers: { workbench: { command: COMMAND, args: ARGS } } });
const tools = await client.getTools();
const named = (name) => tools[`workbench_${name}`];
const names = Object.keys(tools).map((name) => name.replace(/^workbench_/, ""));
report(names, await named("open_toolbox").execute({ context: OPEN }), await named("use_tool").execute({ context: USE }));
await client.disconnect();
