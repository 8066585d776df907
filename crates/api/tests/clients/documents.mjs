// The examples in the documentation, which tests run unchanged.
import { readFileSync } from "node:fs";

// A module that learns its settings from the address of the page, in place of the documented `settings.js`.
export const PAGE_SETTINGS = `const settings = new URLSearchParams(location.search);
export const service = settings.get("service");
export const agent = settings.get("agent");
export const token = async () => settings.get("token");`;

// Returns a function that finds the block of JavaScript that contains a text.
export const readBlocks = (document) => {
  const parts = readFileSync(document, "utf8").split(/^```jsx?\n/m).slice(1);
  const blocks = parts.map((part) => part.split(/^```$/m)[0]);
  return (text) => {
    const [found, ...others] = blocks.filter((block) => block.includes(text));
    if (found === undefined || others.length > 0) throw new Error(`${document} needs one block with ${text}`);
    return found;
  };
};

// Runs a module, and returns the values of these names. `modules` maps what it imports; `globals` are
// further names.
export const runModule = async (text, modules, { names = [], globals = {} } = {}) => {
  const imports = text.replaceAll(/^import (.*) from ["'](.*)["'];$/gm, (_, what, from) => `const ${what} = modules["${from}"];`);
  const body = `${imports.replaceAll(/^export /gm, "")}\nreturn { ${names.join(", ")} };`;
  const AsyncFunction = (async () => {}).constructor;
  return new AsyncFunction("modules", ...Object.keys(globals), body)(modules, ...Object.values(globals));
};
