// Files of messages: attached, uploaded, shown, and removed.
import { mkdirSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, inspect, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole({ LLM__INPUTS: "image", LIMITS__SIZES__FILE_BYTES: String(2 ** 20) });
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

/** A picture with a gradient, as the browser encodes it. */
const paint = async (page: Page): Promise<Buffer> => {
  const url = await page.evaluate(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [240, 160];
    const context = canvas.getContext("2d")!;
    const gradient = context.createLinearGradient(0, 0, 240, 160);
    for (const [at, colour] of [
      [0, "#3550c8"],
      [0.5, "#f0c06b"],
      [1, "#b3261e"],
    ] as const)
      gradient.addColorStop(at, colour);
    context.fillStyle = gradient;
    context.fillRect(0, 0, 240, 160);
    return canvas.toDataURL("image/png");
  });
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
};

const openChat = async (key: string, config: object = {}) => {
  const agent = await app.service.newAgent(config);
  const page = await app.open(`/chat/${agent}/${key}`, app.key, true);
  await page.getByLabel("Message", { exact: true }).waitFor();
  const png = await paint(page);
  const attach = (name: string, mimeType: string, buffer: Buffer = png) =>
    page.locator("input[type=file]").setInputFiles({ name, mimeType, buffer });
  const chosen = page.getByRole("list", { name: "Files of the message" }).getByRole("listitem");
  const send = page.getByRole("button", { name: "Send", exact: true });
  return { agent, page, png, attach, chosen, send };
};

/** Whether the images in a list of files are loaded. */
const loaded = (page: Page) =>
  page.locator(".message-files img").evaluateAll((images) => images.map((image) => (image as HTMLImageElement).naturalWidth));

const picture = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
};

it("attaches files by button, drop and paste, and shows them after a reload and to staff", async () => {
  const { agent, page, png, attach, chosen, send } = await openChat("files");
  expect(await send.isDisabled()).toBe(true);
  await attach("photo.png", "image/png");
  await chosen.getByRole("img", { includeHidden: true }).waitFor();
  // Dropped anywhere on the page, and pasted.
  await page.evaluate(
    ([bytes]) => {
      const given = (name: string, type: string, content: BlobPart) => {
        const data = new DataTransfer();
        data.items.add(new File([content], name, { type }));
        return data;
      };
      const notes = given("notes.txt", "text/plain", "Broken on one side");
      const options = { bubbles: true, cancelable: true };
      document.body.dispatchEvent(new DragEvent("dragover", { ...options, dataTransfer: notes }));
      document.body.dispatchEvent(new DragEvent("drop", { ...options, dataTransfer: notes }));
      const pasted = given("pasted.png", "image/png", new Uint8Array(bytes!));
      document.querySelector("textarea")!.dispatchEvent(new ClipboardEvent("paste", { ...options, clipboardData: pasted }));
    },
    [[...png]],
  );
  await expect.poll(() => chosen.count()).toBe(3);
  await expect.poll(() => page.locator(".attachment progress").count()).toBe(0);
  await inspect(page, "chat-attachments");
  await page.getByLabel("Message", { exact: true }).fill("What is broken?");
  await page.keyboard.press("Enter");
  await see(page, /^You said: .*What is broken\?/);
  expect(await chosen.count()).toBe(0);
  const names = () =>
    page
      .locator(".message-files li")
      .evaluateAll((all) => all.map((one) => one.querySelector("img")?.alt ?? (one as HTMLElement).innerText));
  const shown = ["photo.png", expect.stringMatching(/^notes\.txt\s+18 B$/), "pasted.png"];
  await expect.poll(names).toEqual(shown);
  await expect.poll(() => loaded(page)).toEqual([240, 240]);
  await inspect(page, "chat-files");
  const parts = app.service.model.requests.at(-1)!.findLast(({ role }: { role: string }) => role === "user").content;
  expect(parts.filter(({ type }: { type: string }) => type === "image_url")).toHaveLength(2);
  await page.reload();
  await expect.poll(names).toEqual(shown);
  await expect.poll(() => loaded(page)).toEqual([240, 240]);
  await picture(page, "chat-files-reloaded");
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: /notes\.txt/ }).click();
  expect((await download).suggestedFilename()).toBe("notes.txt");
  // An edit keeps them.
  await page.getByRole("button", { name: "Edit the message" }).click();
  await page.getByLabel("Changed message").fill("Which side?");
  await page.getByRole("button", { name: "Send the change" }).click();
  await see(page, /^You said: .*Which side\?/);
  await expect.poll(names).toEqual(shown);

  const { data } = (await app.service.call("GET", `/api/conversations?agentId=${agent}`)).body;
  const desk = await app.open(`/conversations/${data[0].id}`);
  await expect.poll(() => loaded(desk)).toEqual([240, 240]);
  await desk.getByRole("link", { name: /notes\.txt/ }).waitFor();
  await inspect(desk, "desk-files", "Message to the user");
});

it("attaches files to a message of staff, which the user sees", async () => {
  const { agent, page, png } = await openChat("staff", { engine: "rules" });
  await page.getByLabel("Message", { exact: true }).fill("Where is it?");
  await page.keyboard.press("Enter");
  const link = page.getByRole("link", { name: "Conversation and turns" });
  const address = await link.getAttribute("href");
  const desk = await app.open(address!.replace(/^.*\/console/, ""));
  await desk.getByLabel("Files to attach").setInputFiles({ name: "map.png", mimeType: "image/png", buffer: png });
  const send = desk.getByRole("button", { name: "Send", exact: true });
  await expect.poll(() => send.getAttribute("aria-disabled")).toBe("false");
  await inspect(desk, "desk-attachments", "Message to the user");
  await send.click();
  for (const one of [desk, page]) await expect.poll(() => loaded(one)).toEqual([240]);
  expect(await desk.getByRole("list", { name: "Files of the message" }).count()).toBe(0);
  const { messages } = await app.service.stored(agent);
  expect(messages.at(-1)).toMatchObject({ role: "agent", content: "", files: [{ name: "map.png", mediaType: "image/png" }] });
});

it("sends files without a text", async () => {
  const { agent, page, attach, send } = await openChat("alone", { engine: "rules" });
  await attach("notes.txt", "text/plain", Buffer.from("Hello"));
  await expect.poll(() => send.isEnabled()).toBe(true);
  await send.click();
  await page.locator(".message.user").getByText("notes.txt").waitFor();
  expect(await page.locator(".bubble.user").count()).toBe(0);
  await expect.poll(() => app.service.turns(agent)).toEqual(["completed"]);
  // The file names the conversation.
  await expect.poll(() => page.title()).toMatch(/^notes\.txt/);
  await page.getByRole("link", { name: "Conversation and turns" }).click();
  await page.getByRole("heading", { name: "notes.txt" }).waitFor();
});

it("shows the progress of an upload, and removes a file during and after it", async () => {
  const { page, attach, chosen } = await openChat("removed");
  await page.route("**/api/files", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await route.continue().catch(() => {});
  });
  await attach("slow.png", "image/png");
  await page.getByRole("progressbar", { name: "Upload of slow.png" }).waitFor();
  await picture(page, "chat-uploading");
  await page.getByRole("button", { name: "Remove slow.png" }).click();
  await expect.poll(() => chosen.count()).toBe(0);
  await page.unroute("**/api/files");
  const uploaded = page.waitForResponse((response) => response.request().method() === "POST" && response.url().endsWith("/api/files"));
  await attach("photo.png", "image/png");
  const { id } = await (await uploaded).json();
  const deleted = page.waitForResponse((response) => response.request().method() === "DELETE");
  await page.getByRole("button", { name: "Remove photo.png" }).click();
  expect((await deleted).status()).toBe(204);
  expect((await app.service.call("GET", `/api/files/${id}`, undefined, { authorization: `Bearer ${app.key}` })).status).toBe(404);
});

it("uploads again what has failed, and refuses what the service does not accept", async () => {
  const { page, attach, chosen, send } = await openChat("failed");
  const problem = { code: "files_unavailable", status: 503, title: "Files are unavailable.", detail: "Later.", type: "", retryable: true };
  await page.route("**/api/files", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", json: problem }));
  await attach("photo.png", "image/png");
  await chosen.getByRole("alert").getByText("Files are unavailable.").waitFor();
  await page.getByLabel("Message", { exact: true }).fill("Look");
  expect(await send.isDisabled()).toBe(true);
  await inspect(page, "chat-upload-failed");
  await page.setViewportSize({ width: 360, height: 740 });
  const reason = await chosen.getByRole("alert").boundingBox();
  expect(reason!.width).toBeGreaterThan(100);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.unroute("**/api/files");
  await page.getByRole("button", { name: "Try again: photo.png" }).click();
  await expect.poll(() => send.isEnabled()).toBe(true);
  // The content decides about the type.
  await attach("tool.png", "image/png", Buffer.from("MZ\0\0"));
  await chosen.getByRole("alert").waitFor();
  expect(await page.getByRole("button", { name: "Try again: tool.png" }).count()).toBe(0);
  await page.getByRole("button", { name: "Remove tool.png" }).click();
  await attach("large.txt", "text/plain", Buffer.alloc(2 ** 20 + 1, "a"));
  await chosen.getByText("At most 1 MiB are accepted.").waitFor();
  await page.getByRole("button", { name: "Remove large.txt" }).click();
  await send.click();
  await see(page, "You said: Look");
});

it("returns the files of a rejected message to the composer", async () => {
  const { page, attach, chosen, send } = await openChat("rejected");
  // The model takes images only.
  const wave = Buffer.concat([Buffer.from("RIFF\x24\0\0\0WAVEfmt "), Buffer.alloc(28)]);
  await attach("sound.wav", "audio/wav", wave);
  await page.getByLabel("Message", { exact: true }).fill("Listen");
  await expect.poll(() => send.isEnabled()).toBe(true);
  await send.click();
  await page.getByRole("alert").getByText("file_type_not_accepted").waitFor();
  await expect.poll(() => chosen.count()).toBe(1);
  await page.getByRole("button", { name: "Remove sound.wav" }).click();
  await send.click();
  await see(page, "You said: Listen");
});
