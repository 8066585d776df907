// A new project: the files of its template, the blocks of the documents, and the libraries.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MESSAGE } from "./chat.mjs";
import { codeOf, linesOf, withValues } from "./documents.mjs";
import { run } from "./steps.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));

/** Writes the files of a project. Returns its scripts, and the number of lines of the blocks. */
export const write = (project) => {
  const { folder, client, template = project.name, files, shared = [], versions = {} } = project;
  cpSync(join(here, template), folder, { recursive: true });
  for (const file of shared) cpSync(join(here, file), join(folder, file));
  const settings = readJson(join(folder, "package.json"));
  for (const kind of ["dependencies", "devDependencies"]) {
    for (const name of Object.keys(settings[kind] ?? {})) settings[kind][name] = versions[name] ?? settings[kind][name];
  }
  settings.dependencies = { ...settings.dependencies, "agent-service-client": `file:${client}` };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, ...settings }));
  let lines = 0;
  for (const file of files) {
    const code = codeOf(file);
    lines += linesOf(code);
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), withValues(code, { ...project, message: MESSAGE }));
  }
  return { scripts: settings.scripts, lines };
};

/** Installs the libraries. A warning about the client is a failure. */
export const install = async ({ folder, env }) => {
  const output = await run(folder, env, "install");
  if (output.includes("agent-service-client")) throw new Error(output);
};

/** The versions that are installed. */
export const versionsOf = ({ folder, shown }) => {
  const versionOf = (name) => {
    try {
      return readJson(join(folder, "node_modules", name, "package.json")).version;
    } catch {
      return "not installed";
    }
  };
  return shown.map((name) => `${name} ${versionOf(name)}`).join(", ");
};
