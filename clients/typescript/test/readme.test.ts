// @vitest-environment jsdom
import { fireEvent, screen } from "@testing-library/react";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Service, startService } from "./service.js";

let service: Service;

beforeAll(async () => {
  service = await startService();
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  Element.prototype.scrollTo ??= () => {};
});
beforeEach(async () => {
  const settings = { url: service.url, agentId: await service.newAgent(), getToken: () => service.admin };
  Object.assign(globalThis, { settings });
  document.body.innerHTML = '<div id="root"></div>';
});
afterAll(() => service.stop());

test("the example for calls that wait approves one, and has a tool", async () => {
  const cart = { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } };
  const agentId = await service.newAgent({ tools: [{ name: "calculator", approval: "always" }, cart] });
  Object.assign(globalThis, { settings: { url: service.url, agentId, getToken: () => service.admin } });
  await import("readme:Calls that wait");
  await enter("call calculator open_cart");
  fireEvent.click(await screen.findByText("Approve"));
  await shows("items");
  await shows("408");
});

test("the example for a search lists what was found, and all conversations again", async () => {
  const { agentId } = (globalThis as unknown as { settings: { agentId: string } }).settings;
  for (const message of ["Where is my parcel?", "A blue kettle"]) await service.call("POST", "/api/chat", { agentId, message });
  const found = () => service.call("GET", `/api/conversations?agentId=${agentId}&q=parcel`);
  await expect.poll(async () => (await found()).body.data.length).toBe(1);
  await import("readme:Search");
  const listed = () => screen.queryAllByText(/./, { selector: "p" }).map(({ textContent }) => textContent);
  const search = (value: string) => fireEvent.change(screen.getByRole("searchbox"), { target: { value } });
  await expect.poll(() => listed().length).toBe(2);
  search("PARCEL");
  await expect.poll(listed).toEqual(["You said: Where is my parcel?"]);
  search("kettle parcel");
  await expect.poll(listed).toEqual(["No conversations"]);
  search(" ");
  await expect.poll(() => listed().length).toBe(2);
});

const enter = async (text: string) => {
  fireEvent.change(await screen.findByRole("textbox"), { target: { value: text } });
  fireEvent.click(await screen.findByText("Send"));
};
const shows = (text: string) => expect.poll(() => document.body.textContent).toContain(text);

test.each([
  // The name of the agent is shown once events are followed.
  ["React", () => import("readme:React"), ["Ada"], ["A reply at "]],
  ["AI SDK", () => import("readme:AI SDK"), [], []],
  ["assistant-ui", () => import("readme:assistant-ui"), [], []],
  ["TanStack", () => import("readme:TanStack"), [], []],
])("the example for %s streams a reply, and stops another", async (_name, load, before, after) => {
  await load();
  for (const text of before) await shows(text);
  await enter("Hello");
  await shows("You said: Hello");
  for (const text of after) await shows(text);
  await enter("hold");
  await shows("First half, ");
  fireEvent.click(await screen.findByText("Stop"));
  const { agentId } = (globalThis as unknown as { settings: { agentId: string } }).settings;
  await expect.poll(() => service.turns(agentId)).toEqual(["completed", "cancelled"]);
});
