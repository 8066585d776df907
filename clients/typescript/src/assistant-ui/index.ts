"use client";

/** Threads, history and a runtime for assistant-ui. */
export type { ThreadOptions } from "./conversation.js";
export { createHistoryAdapter } from "./history.js";
export { type AgentRuntimeOptions, useAgentRuntime } from "./runtime.js";
export { createThreadListAdapter } from "./threads.js";
