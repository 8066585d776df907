import { useState } from "react";
import { openStorage } from "../storage.js";

const NAME = "agent-service-console.author";

/** The name under which this member of staff writes, kept in the browser. */
export const useAuthor = (): [name: string, set: (name: string) => void] => {
  const storage = openStorage("localStorage");
  const [name, setName] = useState(() => storage.getItem(NAME) ?? "");
  const set = (changed: string) => {
    setName(changed);
    storage.setItem(NAME, changed);
  };
  return [name, set];
};
