// The cases that every chat page must pass, with any library. The chat of each case is the only one
// of its agent.
import assert from "node:assert/strict";
import { until } from "./cases.mjs";

const HALF = "First half,";
export const PHOTO = "a photo is shown at once, reaches the model, and is a link after a reload";
const HALVES = "First half, second half.";

// Waits until the chat consists of one message and one whole reply, and has exactly these turns.
const isWhole = async (chat, ...turns) => {
  await chat.showsReply(HALVES);
  await chat.hasTurns(...turns);
  assert.deepEqual(await chat.texts("message"), ["hold"]);
  const [reply, ...more] = await chat.texts("reply");
  assert.ok(reply.startsWith(HALVES), reply);
  assert.deepEqual([reply.split("First").length, more], [2, []], "repeated text");
};

const startReply = async (chat) => {
  await chat.send("hold");
  await chat.showsReply(HALF);
  await chat.hasTurns("in_progress");
};

// The pictures in messages that the model has received.
const picturesOf = (messages) =>
  messages.flatMap(({ content }) => [content].flat().flatMap(({ image_url }) => image_url?.url ?? []));

// The cases, for a function that opens a new chat, a service and its connection. `resume` is what a
// person does after a cut.
export const pageCases = ({ open, model, cut, resume }) => ({
  async "shows tools, and a reply while it grows"() {
    const chat = await open();
    await chat.send("tool");
    await chat.showsReply("That is it.");
    const shown = (await chat.texts("reply")).join("\n");
    assert.match(shown, /^Let me see\.[^]*calculator[^]*That is it\./);
    await chat.hasTurns("completed");
    await chat.send("hold");
    await chat.showsReply(HALF);
    await chat.hasTurns("completed", "in_progress");
    assert.ok(!(await chat.lastReply()).includes("second half"));
    await chat.screenshot("middle");
    model.release();
    await chat.showsReply(HALVES);
    await chat.hasTurns("completed", "completed");
    await chat.screenshot("after");
    await chat.send("words 30 20");
    const lengths = new Set();
    await until(async () => {
      const reply = await chat.lastReply();
      if (reply.startsWith("word1")) lengths.add(reply.length);
      return reply.includes("word30");
    }, "the last word");
    assert.ok(lengths.size > 3, `${lengths.size} lengths`);
  },
  async "stop cancels the turn"() {
    const chat = await open();
    await startReply(chat);
    await chat.click("stop");
    await chat.hasTurns("cancelled");
    assert.ok((await chat.lastReply()).startsWith(HALF));
    await chat.screenshot("stopped");
    await chat.send("Hello");
    await chat.showsReply("You said: Hello");
    await chat.hasTurns("cancelled", "completed");
  },
  async "a reply goes on after a reload in its middle"() {
    const chat = await open();
    await startReply(chat);
    await chat.reload();
    await chat.showsReply(HALF);
    assert.ok(!(await chat.lastReply()).includes("second half"));
    model.release();
    await isWhole(chat, "completed");
    await chat.reload();
    await isWhole(chat, "completed");
  },
  async "a reply goes on after a cut in its middle"() {
    const chat = await open();
    await startReply(chat);
    cut();
    await resume(chat);
    await chat.showsReply(HALF);
    model.release();
    await isWhole(chat, "completed");
  },
  async [PHOTO]() {
    const chat = await open();
    const photo = await chat.attachPhoto();
    await chat.send("hold");
    assert.match(await chat.photo(), /^(data|blob):/);
    await chat.showsReply(HALF);
    await chat.screenshot("photo-before");
    assert.deepEqual(picturesOf(model.requests.at(-1)), [photo]);
    model.release();
    await isWhole(chat, "completed");
    await chat.reload();
    assert.match(await chat.photo(), /\/api\/files\/[\w-]+\/content\?link=/);
    await isWhole(chat, "completed");
    await chat.screenshot("photo-after");
    await chat.send("Hello");
    await chat.showsReply("You said: Hello");
    assert.deepEqual(picturesOf(model.requests.at(-1)), [photo]);
  },
  async "a reply that is regenerated is replaced"() {
    const chat = await open();
    await startReply(chat);
    model.release();
    await isWhole(chat, "completed");
    await chat.click("regenerate");
    await chat.hasTurns("completed", "in_progress");
    await until(async () => (await chat.lastReply()).includes(HALF) && !(await chat.lastReply()).includes("second"), "half a reply");
    model.release();
    await isWhole(chat, "completed", "completed");
  },
});
