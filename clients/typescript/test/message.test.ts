import { expect, test } from "vitest";
import { applyLive, applyPart, hasContent, type Messages, merge, messageOf, withReply } from "../src/message.js";

const stored = { id: "m", conversationId: "c", turnId: "t", seq: 1, role: "agent", content: "Hi", createdAt: "", usage: null };
const known: Messages = [messageOf({ ...stored, finishReason: "dismissed" } as never)];

test("what a newer service adds changes no message", () => {
  expect(known[0]).toMatchObject({ text: "Hi", status: "complete" });
  const part = { type: "turn.unheard_of", turnId: "t", conversationId: "c", toolCalls: [] } as never;
  expect(applyPart(known, part)).toBe(known);
  expect(applyLive(known, part)).toBe(known);
});

test("a turn that goes on leaves its calls waiting that staff decides", () => {
  const calls = (["user", "staff"] as const).map((approver) => ({
    id: `t-${approver}`,
    name: "refund",
    arguments: {},
    status: "waiting",
    durationMs: 0,
    needs: "approval" as const,
    approver,
    expiresAt: "2030-01-01T00:00:00.000Z",
  }));
  const waiting = applyPart(known, { type: "turn.requires_action", turnId: "t", conversationId: "c", toolCalls: calls } as never);
  const [reply] = applyPart(waiting, { type: "turn.resumed", turnId: "t", conversationId: "c" } as never);
  expect(reply?.toolCalls.map(({ status, needs }) => [status, needs])).toEqual([
    ["running", undefined],
    ["waiting", "approval"],
  ]);
});

const REPORT = { ...stored, id: "r", turnId: "n", content: "Done" };
const begins = { type: "turn.started", turnId: "n", conversationId: "c", messageId: "r", replyId: "r" } as never;

test("a turn that reports a decision of staff has a reply without a message", () => {
  const begun = withReply(known, "n");
  expect(begun.map(({ turnId, status }) => [turnId, status])).toEqual([
    ["t", "complete"],
    ["n", "streaming"],
  ]);
  // From its stream, too, which names the reply in place of the message.
  expect(applyPart(known, begins).at(-1)).toMatchObject({ id: "r", status: "streaming" });
  expect(applyPart(known, begins)).toHaveLength(2);
});

test("the reply of a turn without a message is shown once", () => {
  const ended = [...known, messageOf({ ...REPORT, finishReason: "stop" } as never)];
  expect(withReply(ended, "n")).toBe(ended);
  const waits = [...known, messageOf({ ...REPORT, turnStatus: "requires_action" } as never)];
  expect(applyPart(waits, begins).map(({ id }) => id)).toEqual(["m", "r"]);
  expect(merge(ended, withReply(known, "n")).map(({ id }) => id)).toEqual(["m", "r"]);
});

test("a message of staff can be files alone, and a reply without anything is not shown", () => {
  const files = [{ id: "f", name: "map.png", mediaType: "image/png", bytes: 1 }];
  const shown = [files, []].map((given) => hasContent(messageOf({ ...stored, content: "", files: given } as never)));
  expect(shown).toEqual([true, false]);
});

test("reasoning grows beside the text, begins anew at 0, and shows a reply while it is streamed", () => {
  const delta = (from: number, text: string) =>
    ({ type: "reasoning.delta", turnId: "n", conversationId: "c", from, to: from + new TextEncoder().encode(text).length, text }) as never;
  const reasonings = (...parts: never[]) => parts.reduce((messages, part) => applyPart(messages, part), applyPart([], begins)).at(-1)!;
  expect(reasonings()).not.toHaveProperty("reasoning");
  expect(reasonings(delta(0, "Hé, "), delta(5, "hm."))).toMatchObject({ reasoning: "Hé, hm.", text: "" });
  // A part that does not continue it is left out.
  expect(reasonings(delta(0, "Hé, "), delta(9, "hm."))).toMatchObject({ reasoning: "Hé, " });
  const anew = reasonings(delta(0, "Hé, "), delta(0, "So"));
  expect(anew).toMatchObject({ reasoning: "So" });
  expect([anew, { ...anew, status: "failed" } as const].map(hasContent)).toEqual([true, false]);
});
