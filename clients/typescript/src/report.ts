const reported = new Set<string>();

/** Tells developers once what works in another way than it could, and why. */
export const report = (what: string, reason: unknown): void => {
  if (!reported.has(what)) console.warn(`Agent Service: ${what}:`, reason);
  reported.add(what);
};
