// The official TypeScript client 1.x; it knows the legacy era alone.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { ARGS, CAPABILITIES, COMMAND, converse } from "./converse.mjs";

const SCHEMAS = {
  "elicitation/create": ElicitRequestSchema,
  "sampling/createMessage": CreateMessageRequestSchema,
  "roots/list": ListRootsRequestSchema,
};
const client = new Client({ name: "compat", version: "1.0" }, { capabilities: CAPABILITIES });

await converse(client, {
  async connect() {
    let version;
    const transport = new StdioClientTransport({ command: COMMAND, args: ARGS });
    transport.setProtocolVersion = (agreed) => (version = agreed); // nothing else tells
    await client.connect(transport);
    return version;
  },
  answering: (method, answer) => client.setRequestHandler(SCHEMAS[method], answer),
  call: (params, options) => client.callTool(params, undefined, options),
});
