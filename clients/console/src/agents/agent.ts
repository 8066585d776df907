import type { components } from "agent-service-client";
import type { Json } from "../form/json-pointer.js";

export type Agent = components["schemas"]["Agent"];
export type AgentDraft = components["schemas"]["AgentDraft"];
export type ConfigBody = components["schemas"]["ConfigBody"];

/** The document that the form edits: the body of `PUT /api/agents/{id}/config`. */
export type Draft = { [member: string]: Json };

/** Returns the draft of an agent as it is stored. */
export const draftOf = ({ name, personality, capabilities, config }: Agent): Draft =>
  ({ name, ...(personality ? { personality } : {}), ...(capabilities.length > 0 ? { capabilities } : {}), ...config }) as unknown as Draft;

/** Returns the members of a draft that both requests share. */
const split = ({ name = "", personality = "", capabilities = [], ...config }: Draft) => ({ name, personality, capabilities, config });

export const createBody = (draft: Draft): AgentDraft => split(draft) as unknown as AgentDraft;

export const replaceBody = (draft: Draft): ConfigBody => {
  const { config, ...members } = split(draft);
  return { ...members, ...config } as unknown as ConfigBody;
};

/** Compares JSON values, whatever the order of their members. */
export const isSame = (one: Json | undefined, other: Json | undefined): boolean => canonical(one) === canonical(other);

const canonical = (value: Json | undefined): string =>
  JSON.stringify(value, (_, inner: Json) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  ) ?? "";

/** Returns true if the agent is as the draft makes it. */
export const isStoredIn = (draft: Draft, agent: Agent): boolean => isSame(split(draft), split(draftOf(agent)));

/** Returns the members in which two drafts differ. */
export const changedMembers = (before: Draft, after: Draft): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((member) => !isSame(before[member], after[member]));

/** Returns a draft with some members of another one, or without them if the other one lacks them. */
export const withMembers = (draft: Draft, members: readonly string[], source: Draft): Draft => ({
  ...Object.fromEntries(Object.entries(draft).filter(([member]) => !members.includes(member))),
  ...Object.fromEntries(Object.entries(source).filter(([member]) => members.includes(member))),
});

/** Names the members of a draft for people. */
export const MEMBERS: Record<string, string> = {
  name: "Name",
  personality: "Personality",
  capabilities: "Capabilities",
  engine: "Engine",
  fallbacks: "Fallbacks",
  instructions: "Instructions",
  greeting: "Greeting",
  rules: "Rules",
  fallbackReply: "Fallback reply",
  llm: "Model and parameters",
  responseSchema: "Schema of replies",
  history: "History",
  timeoutMs: "Timeout",
  tools: "Tools",
  maxToolRounds: "Rounds of tool calls",
  maxToolCalls: "Tool calls",
  actionTimeoutSeconds: "Time to answer",
  allowClientTools: "Tools that users add",
  allowUnrecorded: "Unrecorded chats of users",
  allowHandOver: "Hand-over by users",
  titles: "Titles",
  retention: "Retention",
  profile: "Profile",
  metadata: "Metadata",
};
