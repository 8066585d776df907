// Installs the client and the libraries, unless that was done since one of them has changed.
import { execSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";

const client = "../../clients/typescript";
const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const sources = readdirSync(`${client}/src`, { recursive: true }).map((file) => `${client}/src/${file}`);
const newest = Math.max(...["package-lock.json", `${client}/package-lock.json`, ...sources].map(changed));
if (changed("node_modules/.package-lock.json") < newest) {
  execSync(`npm ci --ignore-scripts --prefix ${client} && npm run prepack --prefix ${client}`, { stdio: "inherit" });
  // Copies the client, which is built now.
  execSync("npm ci", { stdio: "inherit" });
}
