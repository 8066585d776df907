// The cases that every page whose agent acts must pass, with any library: a call that the user
// approves, and a tool of the page, after a reload and after a restart of the service. Each page has
// the button `approve` in the call of the calculator while it waits, and the tool `open_cart`, which
// counts its runs in `window.opened`.
import assert from "node:assert/strict";
import { until } from "./cases.mjs";
import { openCart } from "./open_cart.mjs";

const calculator = { name: "calculator", visibility: "full", approval: "always" };

// The configuration of an agent with the tool of the page, and of one that takes those of the page.
export const acting = { tools: [calculator, { ...openCart, run: "client" }] };
export const actingWithOffers = { tools: [calculator], allowClientTools: true };

const CALCULATE = `calls ${JSON.stringify([["calculator", { expression: "17 * 24" }]])}`;
const OPEN = `calls ${JSON.stringify([["open_cart", { tab: 2 }]])}`;

// Waits until the chat consists of one message and one whole reply, also after a reload.
const isWhole = async (chat, result) => {
  for (const isReloaded of [false, true]) {
    if (isReloaded) await chat.reload();
    await chat.showsReply("Then: ");
    await chat.hasTurns("completed");
    const shown = (await chat.texts("reply")).join("\n");
    assert.match(shown, new RegExp(`Let me see[^]*Then: .*${result}`));
    for (const once of ["Let me see", "Then: "]) assert.equal(shown.split(once).length, 2, `repeated text: ${shown}`);
    assert.deepEqual([(await chat.texts("message")).length, await chat.questions()], [1, 0]);
  }
};

// Steps of pages in several cases, for a function that opens a new chat. `isAnswer` tells requests with
// the output of a tool from others, by their bodies.
const stepsOf = (open, isAnswer) => ({
  isWhole,
  // A call waits for approval.
  async ask() {
    const chat = await open();
    await chat.send(CALCULATE);
    await chat.asks();
    await chat.hasTurns("requires_action");
    return chat;
  },
  // The page has run its tool, but its answer is lost, until the page is reloaded.
  async loseAnswer() {
    const chat = await open();
    let lost = 0;
    const lose = (route) => {
      if (!isAnswer(route.request().postData() ?? "")) return route.fallback();
      lost += 1;
      return route.abort();
    };
    await chat.page.route("**/*", lose);
    await chat.send(OPEN);
    await until(() => lost > 0, "an answer");
    assert.equal(await chat.page.evaluate("window.opened"), 1);
    await chat.hasTurns("requires_action");
    const reload = async () => {
      // Pages that repeat requests must not send this one meanwhile.
      const url = chat.page.url();
      await chat.page.goto("about:blank");
      await chat.page.unroute("**/*", lose);
      await chat.load(url);
    };
    return { chat, reload };
  },
  // The tool runs once, and not again when the page is reloaded.
  async runsOnce(chat) {
    await chat.showsReply("Then: ");
    assert.equal(await chat.page.evaluate("window.opened"), 1);
    await isWhole(chat, "opened");
    assert.equal(await chat.page.evaluate("window.opened"), undefined, "it ran after its answer had arrived");
  },
});

const answerOfAiSdk = (body) => body.includes('"output-available"');

// The steps, and the cases for a service.
export const actionCases = ({ open, service, isAnswer = answerOfAiSdk }) => {
  const steps = stepsOf(open, isAnswer);
  const { ask, loseAnswer, runsOnce } = steps;
  const cases = {
    async "a call is approved after a reload"() {
      const chat = await ask();
      await chat.screenshot("question");
      await chat.reload();
      await chat.asks();
      await chat.screenshot("question-after-reload");
      await chat.click("approve");
      await isWhole(chat, "408");
      await chat.screenshot("approved");
    },
    async "a call is approved after a restart"() {
      const chat = await ask();
      await service.restart();
      await chat.click("approve");
      await isWhole(chat, "408");
    },
    async "a call is denied after a restart and a reload"() {
      const chat = await ask();
      await service.restart();
      await chat.reload();
      await chat.asks();
      await chat.screenshot("question-after-restart");
      await chat.click("deny");
      await isWhole(chat, "denied");
      await chat.screenshot("denied");
    },
    async "a message dismisses a question"() {
      const chat = await ask();
      await chat.send("Never mind");
      await chat.showsReply("You said: Never mind");
      await chat.hasTurns("completed", "completed");
      // Libraries may show the question of their own memory until then.
      await chat.reload();
      await chat.showsReply("You said: Never mind");
      assert.equal(await chat.questions(), 0);
      assert.deepEqual((await chat.stored()).turns.map((turn) => turn.finishReason), ["dismissed", "stop"]);
    },
    async "a tool of the page runs once"() {
      const chat = await open();
      await chat.send(OPEN);
      await runsOnce(chat);
      await chat.screenshot("tool");
    },
    async "a tool of the page runs again after a reload if its answer was lost"() {
      const { chat, reload } = await loseAnswer();
      await chat.screenshot("answer-lost");
      await reload();
      await runsOnce(chat);
    },
    async "a tool of the page runs again after a restart and a reload"() {
      const { chat, reload } = await loseAnswer();
      await service.restart();
      await reload();
      await runsOnce(chat);
      await chat.screenshot("tool-after-restart");
    },
  };
  return { ...steps, cases };
};
