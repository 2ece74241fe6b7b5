// supergateway: the workbench over HTTP, with a session for all calls ("stateful") or a fresh workbench for each.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { ARGS, COMMAND, OPEN, report, USE } from "./common.mjs";

const how = ARGS.pop();
const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});
const program = fileURLToPath(new URL("./node_modules/.bin/supergateway", import.meta.url));
const quoted = [COMMAND, ...ARGS].map((word) => JSON.stringify(word)).join(" ");
const options = ["--stdio", quoted, "--outputTransport", "streamableHttp", "--port", String(port)];
const gateway = spawn(program, [...options, ...(how === "stateful" ? ["--stateful"] : [])], {
  stdio: ["ignore", "pipe", "pipe"],
});
await new Promise((resolve, reject) => {
  gateway.on("exit", reject);
  for (const stream of [gateway.stdout, gateway.stderr]) {
    stream.on("data", (said) => /listening/i.test(said) && resolve());
  }
});
const client = new Client({ name: "compat", version: "1.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
const call = (name, input) => client.callTool({ name, arguments: input }, undefined, { timeout: 120_000 });
const tools = (await client.listTools()).tools.map((tool) => tool.name);
report(tools, await call("open_toolbox", OPEN), await call("use_tool", USE));
await client.close();
gateway.kill();
process.exit(0);
