/*
Tools for one page, in Node without packages: `mcp` over standard streams, `http`, or `cli`.

    node shop_tools.mjs mcp CDP_URL TARGET_ID
    node shop_tools.mjs http
    node shop_tools.mjs cli WORDS...        (SHOP_CDP and SHOP_TARGET say where the page is)

As other people's servers do, it writes lines that are no messages, asks its client, lists its tools
in pages and has names of its own.
*/

import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { writeFileSync } from "node:fs";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const FIND = {
  look: "document.body.innerText",
  fill: "document.getElementById('name').value = GIVEN",
  press: "[...document.querySelectorAll('button')].find((one) => one.textContent === GIVEN).click()",
};
const TOOLS = ["look", "fill", "page.press", "done", "hang", "photo", "upload", "quit"].map((name) => ({
  name,
  description: `${name} it`,
  inputSchema: {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { text: { type: "string" } },
  },
}));

// Opens the page's protocol, sends what the callback sends, and closes it.
async function withPage(cdp, target, work) {
  const pages = await (await fetch(`${cdp}/json/list`)).json();
  const socket = new WebSocket(pages.find((one) => one.id === target).webSocketDebuggerUrl);
  await new Promise((opened) => socket.addEventListener("open", opened));
  const send = async (method, params) => {
    const evaluated = new Promise((came) => {
      socket.addEventListener("message", (event) => came(JSON.parse(event.data)), { once: true });
    });
    socket.send(JSON.stringify({ id: 1, method, params }));
    const { result } = await evaluated;
    if (result.exceptionDetails) throw new Error(result.exceptionDetails.exception.description);
    return result.result;
  };
  try {
    return await work(send);
  } finally {
    socket.close();
  }
}

const evaluate = (cdp, target, expression) =>
  withPage(cdp, target, async (send) => {
    const { value } = await send("Runtime.evaluate", { expression });
    return String(value ?? "done");
  });

const upload = (cdp, target, path) =>
  withPage(cdp, target, async (send) => {
    const made = "window.field = Object.assign(document.createElement('input'), { type: 'file' })";
    const { objectId } = await send("Runtime.evaluate", { expression: made });
    await send("DOM.setFileInputFiles", { files: [path], objectId });
    const expression = "window.field.files[0].text()";
    return (await send("Runtime.evaluate", { expression, awaitPromise: true })).value;
  });

const act = (cdp, target, name, text) =>
  evaluate(cdp, target, FIND[name.replace("page.", "")].replace("GIVEN", JSON.stringify(text)));

async function use({ cdp, target }, { name, arguments: given }) {
  if (name === "hang") return new Promise(() => {});
  if (name === "photo") return { content: [{ type: "image", data: PIXEL, mimeType: "image/png" }] };
  try {
    const text = await (name === "upload"
      ? upload(cdp, target, given.text)
      : act(cdp, target, name, given.text));
    return { content: [{ type: "text", text: `${text}\n${cdp} ${process.cwd()}` }] };
  } catch (error) {
    return { content: [{ type: "text", text: error.message }], isError: true };
  }
}

async function answer(page, { method, params }) {
  if (method === "initialize") {
    const { protocolVersion } = params;
    const serverInfo = { name: "shop", version: "1" };
    return { protocolVersion, capabilities: { tools: {} }, serverInfo, instructions: "Be kind." };
  }
  if (method === "tools/list")
    return params.cursor ? { tools: TOOLS.slice(2) } : { tools: TOOLS.slice(0, 2), nextCursor: "2" };
  return use(page, params);
}

const reply = (id, result) => ({ jsonrpc: "2.0", id, result });

async function overStreams(page) {
  const write = (message) => console.log(JSON.stringify(message));
  console.log("shop tools, at your service");
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    if (asked.method === "tools/list") write({ jsonrpc: "2.0", id: "mine", method: "ping" });
    // What hangs must not keep the others waiting.
    if (asked.id && asked.method) answer(page, asked).then((result) => write(reply(asked.id, result)));
  }
}

function overHttp() {
  const server = createServer(async (request, response) => {
    const { searchParams } = new URL(request.url, "http://here");
    const page = {
      cdp: `http://127.0.0.1:${searchParams.get("port")}`,
      target: searchParams.get("target"),
    };
    let body = "";
    for await (const piece of request) body += piece;
    const asked = JSON.parse(body);
    const wrong = asked.method !== "initialize" && request.headers["mcp-session-id"] !== "s1";
    if (!asked.id || wrong) return response.writeHead(wrong ? 404 : 202).end();
    const message = JSON.stringify(reply(asked.id, await answer(page, asked)));
    const plain = asked.method === "tools/list";
    response.writeHead(200, {
      "Content-Type": plain ? "application/json" : "text/event-stream",
      "Mcp-Session-Id": "s1",
    });
    response.end(plain ? message : `: hello\n\nevent: message\ndata: ${message}\n\n`);
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

async function asCommand([name, text]) {
  const { SHOP_CDP, SHOP_TARGET } = process.env;
  if (name === "flood") return "x".repeat(300_000);
  if (name === "photo") {
    writeFileSync("photo.png", Buffer.from(PIXEL, "base64"));
    return "page-2026-01-02T03-04-05-678Z.png";
  }
  if (name === "attach") return `attached to ${SHOP_CDP}`;
  return act(SHOP_CDP, SHOP_TARGET, name, text);
}

const [mode, ...words] = process.argv.slice(2);
if (mode === "mcp") await overStreams({ cdp: words[0], target: words[1] });
else if (mode === "http") overHttp();
else {
  try {
    console.log(await asCommand(words));
  } catch (error) {
    console.log(error.message);
    process.exitCode = 1;
  }
}
