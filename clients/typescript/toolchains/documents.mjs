// The files in the blocks of the documents and beside this one, which the projects use unchanged but for the addresses in them.
import { readFileSync } from "node:fs";

const DOCUMENTS = ["../frameworks.md", "../README.md"];
/** The first line of a file, with its path and perhaps a remark. */
const PATH = /^(?:\/\/|<!--) ([\w+./-]+\.[a-z]+)(?: -->| \(.*\))?\n/m;

/** The files of a block. The page of the README has no path: it is to be saved as `main.tsx`. */
const filesOf = ([, language, code]) => {
  if (!PATH.test(code)) return [{ path: `main.${language}`, code }];
  const [, ...parts] = code.split(new RegExp(PATH, "gm"));
  return parts.flatMap((path, index) => (index % 2 === 0 ? [{ path, code: parts[index + 1] }] : []));
};
const files = DOCUMENTS.flatMap((document) => {
  const text = readFileSync(new URL(document, import.meta.url), "utf8");
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(filesOf);
});

/** Returns the code for a file of a project: that with its path or the longest end of it, or the file beside this one. */
export const codeOf = (file) => {
  const found = files.filter(({ path }) => `/${file}`.endsWith(`/${path}`));
  const [longest] = found.sort((one, other) => other.path.length - one.path.length);
  return longest?.code ?? readFileSync(new URL(file, import.meta.url), "utf8");
};

/** The number of lines of code. */
export const linesOf = (code) => code.split("\n").filter((line) => !/^\s*(\/\/.*)?$/.test(line)).length;

/** Replaces the examples of the documents, which differ from installation to installation. */
export const withValues = (code, { url, agentId, token, message }) =>
  code
    .replaceAll("http://127.0.0.1:8080", url)
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f-]{17}/g, agentId)
    .replaceAll("eyJ…", token)
    .replaceAll('"Hello"', JSON.stringify(message));
