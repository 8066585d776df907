// Builds the console again, and fails if the files in crates/http/documents/console differ.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";

const committed = join(import.meta.dirname, "../../../crates/http/documents/console");
const rebuilt = mkdtempSync(join(tmpdir(), "console-"));

const filesIn = (folder) => {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
};

await build({ logLevel: "warn", build: { outDir: rebuilt } });
const [before, after] = [filesIn(committed), filesIn(rebuilt)];
rmSync(rebuilt, { recursive: true });
const names = [...new Set([...before.keys(), ...after.keys()])];
const different = names.filter((name) => before.get(name) !== after.get(name));
if (different.length > 0) {
  console.error(`crates/http/documents/console is out of date: run \`npm run build\` in clients/console\n${different.join("\n")}`);
  process.exitCode = 1;
}
