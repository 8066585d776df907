// A server of language models that follows the user's message:
// `words N P`: N words with pauses of P milliseconds; `hold`: half a reply, the rest after
// `release()`; `tool`: text, a call of the calculator, text; `bad tool`: a call that fails;
// `tools N P`: text, a call, a call that fails, text of N words; `call NAME…`: text, calls of these tools,
// their results; `fail`: a refusal; `fail N`: a
// broken connection after N words; `calls [NAME, ARGUMENTS]…`, in JSON: text, these calls, what they
// returned; `write N P` and a line break: what follows, N characters at a time;
// anything else is echoed.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

const wordsBetween = (first, last) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => `word${first + index} `);

const callOf = (index, call) => {
  const [name, given] = typeof call === "string" ? ["calculator", { expression: call }] : call;
  return { index, id: `call_${index + 1}`, type: "function", function: { name, arguments: JSON.stringify(given) } };
};

// What the model writes: the texts, the calls after them, and the pause in milliseconds between two
// texts.
const planOf = (message, results) => {
  const hasResults = results.length > 0;
  const [line, ...lines] = message.split("\n");
  // Only what follows `write` has lines: a command before another message is none.
  const [command, count, pause] = (line.startsWith("write ") ? line : message).split(" ");
  const rest = { pause: Number(pause ?? 0) };
  if (command === "words") return { texts: wordsBetween(1, Number(count)), ...rest };
  if (command === "fail") return { texts: wordsBetween(1, Number(count)), fails: true };
  if (command === "write") {
    const text = lines.join("\n");
    const size = Number(count);
    return { texts: Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size)), ...rest };
  }
  if (command === "hold") return { texts: ["First half, ", "second half."], holds: true };
  if (message === "tool" || message === "bad tool") {
    if (hasResults) return { texts: ["That is it."] };
    return { texts: ["Let me see. "], calls: [message === "tool" ? "17 * 24" : "17 *"] };
  }
  if (command === "calls") {
    if (hasResults) return { texts: ["Then: ", results.join(", ")] };
    return { texts: ["Let me see. "], calls: JSON.parse(message.slice(6)) };
  }
  if (command === "call") {
    if (hasResults) return { texts: ["It ", "returned ", `${results.join(", ")}.`] };
    const names = message.split(" ").slice(1);
    return { texts: ["Let me see. "], calls: names.map((name) => [name, { expression: "17 * 24" }]) };
  }
  if (command === "tools") {
    if (hasResults) return { texts: ["It ", "is ", "408.", ...wordsBetween(4, Number(count))], ...rest };
    return { texts: ["Let ", "me ", "see."], calls: ["17 * 24", "1 +"] };
  }
  return { texts: [`You said: ${message}`] };
};

const textOf = (content) =>
  typeof content === "string" ? content : content.flatMap(({ text }) => text ?? []).join("");

// The results of the calls of the newest response.
const resultsOf = (messages) =>
  messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1).map(({ content }) => content);

export const startModel = async () => {
  const requests = [];
  let held = [];
  const write = async (response, { texts, calls = [], pause = 0, holds, fails }) => {
    const send = (data) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    const choose = (choice) => send({ choices: [{ index: 0, ...choice }] });
    for (const [index, content] of texts.entries()) {
      if (index > 0) await (holds ? new Promise((go) => held.push(go)) : sleep(pause));
      choose({ delta: { content } });
    }
    // After the words have left.
    if (fails) return void setTimeout(() => response.destroy(), 5);
    for (const call of calls.entries()) choose({ delta: { tool_calls: [callOf(...call)] } });
    choose({ delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" });
    const usage = { prompt_tokens: 7, completion_tokens: texts.length, total_tokens: 7 + texts.length };
    send({ choices: [], usage });
    return response.end("data: [DONE]\n\n");
  };
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => "");
    // The service has cancelled the request.
    if (!request.complete || body === "") return response.destroy();
    const { messages } = JSON.parse(body);
    requests.push(messages);
    const { content } = messages.findLast(({ role }) => role === "user");
    const message = textOf(content);
    if (message === "fail") return response.writeHead(400).end('{"error":{"message":"no"}}');
    response.writeHead(200, { "content-type": "text/event-stream" });
    return write(response, planOf(message, resultsOf(messages)));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    // The messages of every request.
    requests,
    // Lets every held reply continue.
    release() {
      for (const go of held) go();
      held = [];
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
};
