// The TypeScript client of the 2.x line: node sdk2.mjs URL MODE, or node sdk2.mjs COMMAND MODE.
// The mode is legacy for the protocol up to 2025-11-25, or auto for the newest of both sides.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { play } from "./calls.mjs";

const [target, mode] = process.argv.slice(2);
const transport = target.startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, stderr: "ignore" });
const client = new Client({ name: "sdk2", version: "1.0.0" }, { versionNegotiation: { mode } });
await play(client, transport, () => client.getNegotiatedProtocolVersion());
