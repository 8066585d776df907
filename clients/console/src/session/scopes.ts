import type { components } from "agent-service-client";

export type Scope = components["schemas"]["Scope"];

/** What each scope allows, as in docs/access.md. */
export const SCOPES: Record<Scope, string> = {
  "agents:read": "Read agents and their configuration.",
  "agents:write": "Create, change and delete agents.",
  "chat:write": "Chat with agents and cancel turns.",
  "tools:approve": "Approve or deny tool calls that wait for staff.",
  "conversations:read": "Read conversations, messages and turns.",
  "conversations:write": "Create, change and delete conversations.",
  "conversations:all": "For users: reach conversations of other users too.",
  "events:read": "Follow the event log.",
  "metrics:read": "Read the service's metrics, and list its nodes.",
  "users:admin": "Store what models are told about users, read it, and erase users.",
  "keys:admin": "Create, change, rotate and revoke keys and clients.",
  "user-tokens:issue": "Issue tokens to users and withdraw them, and so act as any user.",
};

/** The scopes that a token of a user can have. */
export const USER_SCOPES = [
  "chat:write",
  "conversations:read",
  "conversations:write",
  "events:read",
  "agents:read",
] as const satisfies readonly Scope[];

/** Usual selections of scopes; without `scopes`, all that one has. */
export const PRESETS: readonly { name: string; scopes?: readonly Scope[] }[] = [
  { name: "Page backend", scopes: ["user-tokens:issue", ...USER_SCOPES] },
  { name: "Read only", scopes: ["agents:read", "conversations:read", "events:read", "metrics:read"] },
  { name: "Everything" },
];
