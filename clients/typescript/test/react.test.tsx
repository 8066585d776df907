// @vitest-environment jsdom
import { fireEvent, render, screen } from "@testing-library/react";
import { StrictMode } from "react";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "./service.js";
import { type Conversation, createClient } from "../src/index.js";
import { useChat } from "../src/react.js";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const Page = ({ chat }: { chat: Conversation }) => {
  const { messages, status, send } = useChat(chat);
  return (
    <>
      {messages.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
      <button disabled={status !== "ready"} onClick={() => void send("Hello")}>
        Send
      </button>
    </>
  );
};

test("a page shows a conversation, in strict mode too", async () => {
  const agentId = await service.newAgent();
  const client = createClient({ url: service.url, apiKey: service.admin });
  const page = (key: number) => <Page key={key} chat={client.conversation({ agentId, key: "page" })} />;
  const shown = render(page(1), { wrapper: StrictMode });
  const button = await screen.findByRole<HTMLButtonElement>("button");
  await expect.poll(() => button.disabled).toBe(false);
  fireEvent.click(button);
  await screen.findByText("You said: Hello");
  shown.rerender(page(2));
  await screen.findByText("You said: Hello");
  expect(await service.turns(agentId, "page")).toEqual(["completed"]);
});
