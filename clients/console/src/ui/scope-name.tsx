import { SCOPES, type Scope } from "../session/scopes.js";

/** A scope, and what it allows, within a sentence. */
export const ScopeName = ({ scope }: { scope: Scope }) => (
  <>
    <code>{scope}</code> ({SCOPES[scope].replace(/\.$/, "")})
  </>
);
