// A server on the official TypeScript package 2.x, of the modern era alone. Its one tool asks everything there is to ask.
import { inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const message = { role: "user", content: { type: "text", text: "Sing" } };

function interview({ mcpReq }) {
  if (mcpReq.inputResponses) {
    return { content: [{ type: "text", text: JSON.stringify([mcpReq.requestState(), mcpReq.inputResponses]) }] };
  }
  return inputRequired({
    requestState: "asked everything",
    inputRequests: {
      form: inputRequired.elicit({ message: "Who are you?", requestedSchema: schema }),
      url: inputRequired.elicitUrl({ message: "Consent", url: "https://example.com/consent" }),
      song: inputRequired.createMessage({ messages: [message], maxTokens: 5 }),
      roots: inputRequired.listRoots(),
    },
  });
}

serveStdio(
  () => {
    const server = new McpServer({ name: "interviewer", version: "1.0" }, { capabilities: { tools: {} } });
    server.registerTool("interview", { description: "Asks everything" }, interview);
    return server;
  },
  { legacy: "reject" },
);
