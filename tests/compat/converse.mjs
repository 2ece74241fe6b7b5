// What both majors of the official TypeScript client do with the workbench. The tests read what a client saw.
const ANSWERS = {
  "elicitation/create": ({ mode }) => ({ action: "accept", ...(mode === "url" ? {} : { content: { name: "blue" } }) }),
  "sampling/createMessage": () => ({ role: "assistant", model: "m", content: { type: "text", text: "hi" } }),
  "roots/list": () => ({ roots: [{ uri: "file:///home/you", name: "home" }] }),
};

export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const [ERA, SERVER, COMMAND, ...ARGS] = process.argv.slice(2);

/**
 * Hold the whole conversation and print what was seen as one line of JSON.
 *
 * The majors differ in how a client connects (`connect`, which returns the protocol version), is given the function
 * that answers a method (`answering`) and calls a tool (`call`).
 */
export async function converse(client, { connect, answering, call }) {
  const questions = [];
  for (const [method, answer] of Object.entries(ANSWERS)) {
    answering(method, async ({ params }) => {
      questions.push({ method, params: params ?? {} });
      return answer(params ?? {});
    });
  }
  const use = (tool, args = {}, options = {}) =>
    call({ name: "use_tool", arguments: { tool: { toolbox: "dev", server: SERVER, tool }, arguments: args } }, options);

  const version = await connect();
  const progress = [];
  const seen = {
    version,
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    opened: await call({ name: "open_toolbox", arguments: { toolbox_name: "dev" } }),
    added: await use("add", { a: 1, b: 2.5 }),
    form: await use("ask", { together: 2, times: 2 }),
    url: await use("ask", { url: true }),
    sampled: await use("sample", { message: "Sing" }),
    rooted: await use("roots"),
    failed: await use("fail", { text: "it broke" }),
    mistaken: await use("no_such_tool"),
    cancelled: await cancelled(use, progress),
    afterwards: await use("echo", { still: "here" }),
  };
  await client.close();
  process.stdout.write(`${JSON.stringify({ ...seen, progress, questions })}\n`);
}

// These clients drop progress that reaches them together with the result: what they saw is sure only before the end.
async function cancelled(use, progress) {
  const wish = new AbortController();
  const onprogress = (report) => {
    if (progress.push(report) === 3) wish.abort("no longer wanted");
  };
  try {
    return await use("progress", { n: 1000, interval: 0.02 }, { signal: wish.signal, onprogress });
  } catch (error) {
    return String(error);
  }
}
