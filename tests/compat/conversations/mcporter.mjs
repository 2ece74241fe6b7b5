// mcporter's command line: a fresh workbench for every command.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { ARGS, COMMAND, OPEN, report, USE } from "./common.mjs";

const folder = mkdtempSync(join(tmpdir(), "mcporter-"));
const config = join(folder, "mcporter.json");
writeFileSync(config, JSON.stringify({ mcpServers: { workbench: { command: COMMAND, args: ARGS } } }));
const program = fileURLToPath(new URL("./node_modules/.bin/mcporter", import.meta.url));
const env = { ...process.env, MCPORTER_LIST_TIMEOUT: "120000", MCPORTER_CALL_TIMEOUT: "120000" };
const run = (...words) => execFileSync(program, [...words, "--config", config], { encoding: "utf8", env });
const call = (tool, input) => run("call", `workbench.${tool}`, "--args", JSON.stringify(input));
try {
  const tools = JSON.parse(run("list", "workbench", "--json")).tools.map((tool) => tool.name);
  report(tools, call("open_toolbox", OPEN), call("use_tool", USE));
} finally {
  rmSync(folder, { recursive: true });
}
