// What every framework does with the workbench: see its tools, open a toolbox, use a tool; and how that is reported.
export const [COMMAND, ...ARGS] = process.argv.slice(2);
export const OPEN = { toolbox_name: "dev" };
export const USE = { tool: { toolbox: "dev", server: "tools", tool: "add" }, arguments: { a: 1, b: 2.5 } };

/** Print what was seen; whatever a framework makes of a result, its text is in it. */
export function report(tools, opened, used, more = {}) {
  process.stdout.write(`${JSON.stringify({ tools: [...tools].sort(), opened, used, ...more })}\n`);
}
