// A TypeScript client that signs in by itself: node signin.mjs URL LINE ID SECRET. It calls the tool
// that each line of its standard input names, and writes what it gets, a line of JSON each.
import { createInterface } from "node:readline";

const [target, line, clientId, clientSecret] = process.argv.slice(2);
const url = new URL(target);
const options = { clientId, clientSecret };
let client, transport;
if (line === "1") {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ClientCredentialsProvider } = await import("@modelcontextprotocol/sdk/client/auth-extensions.js");
  client = new Client({ name: "sdk1", version: "1.0.0" });
  options.scope = "notes:read notes:write"; // this line asks for these scopes only, whatever a challenge says
  transport = new StreamableHTTPClientTransport(url, { authProvider: new ClientCredentialsProvider(options) });
} else {
  const { Client, StreamableHTTPClientTransport, ClientCredentialsProvider } = await import("@modelcontextprotocol/client");
  client = new Client({ name: "sdk2", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  transport = new StreamableHTTPClientTransport(url, { authProvider: new ClientCredentialsProvider(options) });
}
await client.connect(transport);
for await (const name of createInterface({ input: process.stdin })) {
  let got;
  try {
    const result = await client.callTool({ name, arguments: {} });
    got = { text: result.content[0].text };
  } catch (e) {
    got = { error: e.message };
  }
  process.stdout.write(JSON.stringify(got) + "\n");
}
await client.close();
