// The official TypeScript client 2.x; left to choose, it takes the modern era from a server that has it.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { ARGS, CAPABILITIES, COMMAND, converse, ERA } from "./converse.mjs";

const versionNegotiation = { mode: ERA === "legacy" ? "legacy" : "auto" };
const client = new Client({ name: "compat", version: "1.0" }, { capabilities: CAPABILITIES, versionNegotiation });

await converse(client, {
  async connect() {
    await client.connect(new StdioClientTransport({ command: COMMAND, args: ARGS }));
    return client.getNegotiatedProtocolVersion();
  },
  answering: (method, answer) => client.setRequestHandler(method, answer),
  call: (params, options) => client.callTool(params, options),
});
