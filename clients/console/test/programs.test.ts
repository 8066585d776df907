// The programs that the page of an agent offers are run as they are copied.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, clipboardOf, inspect, SCOPES, see, startConsole } from "./console.js";

const run = promisify(execFile);
let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

/** Bundles a program with the packages that it imports. */
const bundle = async (text: string, platform: "node" | "browser") => {
  const folder = join(import.meta.dirname, "..");
  const stdin = { contents: text, loader: "jsx", resolveDir: folder } as const;
  // The linked client has a React of its own.
  const alias = { react: join(folder, "node_modules/react") };
  const { outputFiles } = await build({
    stdin,
    alias,
    platform,
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles[0]?.text ?? "";
};

const openPrograms = async (agent: string, scopes: string): Promise<Page> => {
  const page = await app.open(`/agents/${agent}`, app.service.key(scopes));
  await page.getByRole("tab", { name: "Use this agent" }).click();
  return page;
};

it("offers programs with a test token that chat with the agent", async () => {
  const agent = await app.service.newAgent({ engine: "rules", rules: [{ keywords: ["hello"], reply: "Good to see you." }] });
  const page = await openPrograms(agent, `${SCOPES},user-tokens:issue`);
  await inspect(page, "agent-programs");
  await page.getByRole("button", { name: "Create a test token" }).click();
  await see(page, "The programs contain the token, until");
  await inspect(page, "agent-programs-token");
  const copied = async (name: string) => {
    await page.getByRole("button", { name: `Copy the ${name} program` }).click();
    const text = await page.getByRole("region", { name: `${name} program` }).innerText();
    await expect.poll(async () => (await clipboardOf(page)).trim()).toBe(text.trim());
    return clipboardOf(page);
  };

  const curl = await copied("curl");
  const { stdout: answer } = await run("bash", ["-c", curl]);
  const { conversationId, message } = JSON.parse(answer);
  expect(message).toBe("Good to see you.");
  expect((await app.service.call("GET", `/api/conversations/${conversationId}`)).body.userId).toBe("console-test");

  const script = await bundle(await copied("JavaScript"), "node");
  const { stdout: words } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  expect(words.trim()).toBe("Good to see you.");

  const chat = await copied("React");
  const mounted = `${chat}\nimport { createRoot } from "react-dom/client";\ncreateRoot(document.getElementById("root")).render(<Chat />);`;
  const other = await page.context().newPage();
  const files = {
    "/try": ["text/html", '<div id="root"></div><script type="module" src="/try.js"></script>'],
    "/try.js": ["text/javascript", await bundle(mounted, "browser")],
  };
  for (const [path, [contentType = "", body = ""]] of Object.entries(files))
    await other.route(app.service.url + path, (route) => route.fulfill({ contentType, body }));
  await other.goto(`${app.service.url}/try`);
  await other.getByLabel("Message").fill("Hello");
  await other.getByRole("button", { name: "Send" }).click();
  await see(other, "agent: Good to see you.");

  // The token is that of a user, and valid for an hour.
  const [, payload = ""] = (/TOKEN='(.+)'/.exec(curl)?.[1] ?? "").split(".");
  const { sub, iat, exp } = JSON.parse(Buffer.from(payload, "base64url").toString());
  expect([sub, exp - iat]).toEqual(["user:console-test", 3_600]);
});

it("says which scope a test token needs", async () => {
  const page = await openPrograms(await app.service.newAgent(), "agents:read,chat:write");
  await see(page, "Your credential lacks the scope user-tokens:issue (Issue tokens to users and withdraw them, and so act as any user).");
  expect(await page.getByRole("button", { name: "Create a test token" }).isDisabled()).toBe(true);
  // The programs are there nevertheless.
  expect(await page.getByRole("region", { name: "curl program" }).innerText()).toContain("TOKEN='eyJ…'");
  await inspect(page, "agent-programs-missing");
});

it("keeps unsaved changes while the programs are shown", async () => {
  const page = await app.open(`/agents/${await app.service.newAgent()}`);
  await page.getByLabel("Personality").fill("Half a sentence");
  await page.getByRole("tab", { name: "Use this agent" }).click();
  await page.getByRole("tab", { name: "Configuration" }).click();
  expect(await page.getByLabel("Personality").inputValue()).toBe("Half a sentence");
});

it("shows the programs again after a reload, and keeps the focus while a token is created", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open(`/agents/${agent}`, app.service.key(`${SCOPES},user-tokens:issue`), true);
  await page.getByRole("tab", { name: "Use this agent" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Create a test token" }).press("Enter");
  await see(page, "The programs contain the token, until");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Create another one");
  await page.getByRole("tab", { name: "Configuration" }).click();
  expect(new URL(page.url()).search).toBe("");
});
