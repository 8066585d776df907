/** A JSON document, addressed by JSON pointers (RFC 6901), as the service addresses its faults. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

const segmentsOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replace(/~1/g, "/").replace(/~0/g, "~"));

/** Returns the value at a pointer; `undefined` if there is none. */
export const valueAt = (document: Json | undefined, pointer: string): Json | undefined =>
  segmentsOf(pointer).reduce<Json | undefined>((value, segment) => {
    if (Array.isArray(value)) return value[Number(segment)];
    return typeof value === "object" && value !== null ? value[segment] : undefined;
  }, document);

const withSegment = (value: Json | undefined, [segment, ...rest]: string[], changed: Json | undefined): Json | undefined => {
  if (segment === undefined) return changed;
  if (Array.isArray(value)) {
    const inner = withSegment(value[Number(segment)], rest, changed);
    return inner === undefined ? value.filter((_, index) => index !== Number(segment)) : value.with(Number(segment), inner);
  }
  const members = typeof value === "object" && value !== null ? value : {};
  const { [segment]: old, ...others } = members;
  const inner = withSegment(old, rest, changed);
  if (inner === undefined) return Object.keys(others).length === 0 && rest.length === 0 && value === undefined ? undefined : others;
  // The members keep their order.
  return segment in members ? { ...members, [segment]: inner } : { ...others, [segment]: inner };
};

/** Returns the document with another value at a pointer; `undefined` removes it. */
export const withValueAt = (document: Json, pointer: string, value: Json | undefined): Json =>
  withSegment(document, segmentsOf(pointer), value) ?? {};
