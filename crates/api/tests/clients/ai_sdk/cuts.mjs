// Network cuts at every part of a reply of 40 pieces: `node cuts.mjs BINARY [6|7] [RUNS]`. Half of
// the runs go on in the same page, the others in a new one.
import { end } from "../cases.mjs";
import { startService } from "../service.mjs";
import { newChat, sdk, textOf } from "./chat.mjs";

const [, major = "7", runs = "200"] = process.argv.slice(2);
const service = await startService();
const { relay } = service;
const agent = await service.newAgent();
const api = `${relay.url}/ai-sdk/agents/${agent}/chat`;
const headers = { authorization: `Bearer ${service.admin}` };
const whole = Array.from({ length: 40 }, (_, n) => `word${n + 1} `).join("");
// start, start-step, text-start, 40 of text-delta, text-end, finish-step, finish, [DONE]
const events = 47;
const counts = { runs: 0, cuts: 0, errors: 0, halfShownAsWhole: 0, otherText: 0, otherTurns: 0 };

for (let run = 0; run < Number(runs); run += 1) {
  const id = `cut-${run}`;
  const open = (messages) => {
    const transport = new sdk[major].DefaultChatTransport({ api, headers });
    return newChat(major, { id, messages, transport }).chat;
  };
  const check = (chat) => {
    const isWhole = chat.lastMessage?.role === "assistant" && textOf(chat.lastMessage) === whole;
    if (chat.status === "ready" && !isWhole) counts.halfShownAsWhole += 1;
  };
  const cuts = relay.cuts;
  relay.cutAfter(1 + (run % events));
  let chat = open();
  await chat.sendMessage({ text: "words 40 3" });
  counts.cuts += relay.cuts - cuts;
  relay.cutAfter(Infinity);
  check(chat);
  if (chat.status === "error") counts.errors += 1;
  if (run % 2 === 1) {
    const stored = await fetch(`${api}/${id}/messages`, { headers });
    chat = open(await stored.json());
  }
  await chat.resumeStream();
  check(chat);
  const shown = chat.messages.map((message) => `${message.role} ${textOf(message)}`);
  if (chat.status !== "ready" || shown.join() !== `user words 40 3,assistant ${whole}`) counts.otherText += 1;
  if ((await service.turns(agent, id)).length !== 1) counts.otherTurns += 1;
  counts.runs += 1;
}
await service.stop();
const { halfShownAsWhole, otherText, otherTurns } = counts;
process.exitCode = halfShownAsWhole + otherText + otherTurns === 0 ? 0 : 1;
end(counts);
