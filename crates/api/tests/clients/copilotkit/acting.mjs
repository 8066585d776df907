// An agent that acts, with CopilotKit in a page: `node acting.mjs BINARY approvals|tools`.
//
// After a reload CopilotKit shows again what waits for a person, but does not run tools by itself:
// a message goes on without them. While an approval waits, it refuses messages by itself.
import assert from "node:assert/strict";
import { actingWithOffers, actionCases } from "../action_cases.mjs";
import { runPage } from "../run_page.mjs";
import { elements, handle } from "./runtime.mjs";

const CHOOSE = `calls ${JSON.stringify([["choose_size", { sizes: ["S", "M"] }]])}`;

// The cases with approvals: those of every page, and others.
const approvals = ({ cases, ask }) => ({
  ...Object.fromEntries(Object.entries(cases).filter(([name]) => name.startsWith("a call "))),
  async "a message is refused while a call waits"() {
    const chat = await ask();
    await chat.send("Hello");
    await chat.page.waitForSelector("text=pending interrupt");
    await chat.page.click("[title=Dismiss]");
    assert.equal(await chat.questions(), 1);
    await chat.click("approve");
    await chat.showsReply("408");
    await chat.hasTurns("completed");
    await chat.send("Hello again");
    await chat.showsReply("You said: Hello again");
    await chat.hasTurns("completed", "completed");
  },
});

// The cases with tools of the page, and with a person in the loop.
const tools = ({ cases, open, service, loseAnswer, isWhole }) => {
  const choose = async (chat) => {
    await chat.page.click(".choose >> text=M");
    await isWhole(chat, "M");
  };
  const offer = async () => {
    const chat = await open();
    await chat.send(CHOOSE);
    await chat.page.waitForSelector(".choose");
    await chat.hasTurns("requires_action");
    return chat;
  };
  return {
    "a tool of the page runs once": cases["a tool of the page runs once"],
    async "a person answers after a reload"() {
      const chat = await offer();
      await chat.screenshot("choice");
      await chat.reload();
      await chat.page.waitForSelector(".choose");
      await chat.screenshot("choice-after-reload");
      await choose(chat);
    },
    async "a person answers after a restart"() {
      const chat = await offer();
      await service.restart();
      await choose(chat);
      await chat.screenshot("choice-after-restart");
    },
    async "a message goes on without a tool whose answer was lost"() {
      const { chat, reload } = await loseAnswer();
      await reload();
      await chat.send("Never mind");
      await chat.showsReply("You said: Never mind");
      assert.deepEqual((await chat.stored()).turns.map((turn) => turn.finishReason), ["dismissed", "stop"]);
    },
  };
};

await runPage({
  name: "copilotkit-acting",
  source: { folder: import.meta.dirname, file: "acting.jsx" },
  handle,
  elements,
  config: actingWithOffers,
  cases(given) {
    const isAnswer = (body) => body.includes('"role":"tool"');
    const all = { ...given, ...actionCases({ ...given, isAnswer }) };
    return process.argv[3] === "tools" ? tools(all) : approvals(all);
  },
});
