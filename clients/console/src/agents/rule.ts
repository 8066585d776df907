import type { Json } from "../form/json-pointer.js";

export type Rule = { [member: string]: Json };

/** Returns a short name for a rule. */
export const ruleName = (rule: Json | undefined, index: number): string => {
  const { name, pattern, keywords } = (rule ?? {}) as Rule;
  if (typeof name === "string") return name;
  if (typeof pattern === "string" && pattern !== "") return pattern;
  return Array.isArray(keywords) && keywords.length > 0 ? keywords.join(", ") : `Rule ${index + 1}`;
};
