import { expect, test } from "vitest";
import { applyLive, applyPart, type Messages, messageOf } from "../src/message.js";

const stored = { id: "m", conversationId: "c", turnId: "t", seq: 1, role: "agent", content: "Hi", createdAt: "", usage: null };
const known: Messages = [messageOf({ ...stored, finishReason: "dismissed" } as never)];

test("what a newer service adds changes no message", () => {
  expect(known[0]).toMatchObject({ text: "Hi", status: "complete" });
  const part = { type: "turn.unheard_of", turnId: "t", conversationId: "c", toolCalls: [] } as never;
  expect(applyPart(known, part)).toBe(known);
  expect(applyLive(known, part)).toBe(known);
});
