// Makes the calls of $CALLS with a client and writes what it gets, a line of JSON each. The
// clients of both lines of the SDK have the same methods.

export async function play(client, transport, version) {
  await client.connect(transport);
  write({ version: version() });
  for (const call of JSON.parse(process.env.CALLS)) {
    try {
      write({ result: await make(client, call) });
    } catch (e) {
      write({ error: { class: e.constructor.name, code: e.code, message: e.message, data: e.data } });
    }
  }
  await client.close();
}

function write(got) {
  process.stdout.write(JSON.stringify(got) + "\n");
}

function make(client, { method, params }) {
  switch (method) {
    case "tools/list":
      return client.listTools(params); // the client checks structured content from now on
    case "tools/call":
      return client.callTool(params);
    case "prompts/get":
      return client.getPrompt(params);
    case "resources/read":
      return client.readResource(params);
  }
  throw new Error("no such method: " + method);
}
