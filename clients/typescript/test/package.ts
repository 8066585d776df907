// The package as `npm pack` makes it of the built files, installed in a folder of its own.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Installs the package, and links the libraries of `libraries`, which maps their names to folders. */
export const installPackage = (libraries: Record<string, string> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "package-"));
  const installed = join(folder, "node_modules/agent-service-client");
  const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
    cwd: root,
    encoding: "utf8",
  });
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, packed.trim()), "-C", installed, "--strip-components=1"]);
  for (const [name, from] of Object.entries(libraries)) {
    mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
    symlinkSync(from, join(folder, "node_modules", name));
  }
  return {
    folder,
    installed,
    write(name: string, text: string) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
};

/** The folder of a library of this package. */
export const libraryFolder = (name: string): string => join(root, "node_modules", name);

/** Runs a version of TypeScript on a project, and returns what it reports. */
export const compile = (version: "oldest" | "newest" | "own", project: string): string => {
  const typescript = { oldest: "test/older/", newest: "test/newest/", own: "" }[version];
  const compiler = createRequire(join(root, typescript, "package.json")).resolve("typescript/package.json");
  try {
    return execFileSync(process.execPath, [join(dirname(compiler), "bin/tsc"), "-p", project], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
};
