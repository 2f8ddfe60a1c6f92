// The TypeScript client of the 1.x line: node sdk1.mjs URL, or node sdk1.mjs COMMAND.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { play } from "./calls.mjs";

const [target] = process.argv.slice(2);
const transport = target.startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, stderr: "ignore" });
let version;
const set = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (v) => {
  version = v;
  set?.(v);
};
await play(new Client({ name: "sdk1", version: "1.0.0" }), transport, () => version);
