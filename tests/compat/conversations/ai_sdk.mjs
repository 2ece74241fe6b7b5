// @ai-sdk/mcp: the AI SDK's client.
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";

import { ARGS, COMMAND, OPEN, report, USE } from "./common.mjs";

const client = await createMCPClient({ transport: new StdioTransport({ command: COMMAND, args: ARGS }) });
const tools = await client.tools();
const call = (name, input) => tools[name].execute(input, { toolCallId: "1", messages: [] });
report(Object.keys(tools), await call("open_toolbox", OPEN), await call("use_tool", USE));
await client.close();
