// Builds `dist`: the modules, and in `dist/cjs` the same code and types for `require`.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
for (const project of ["tsconfig.build.json", "tsconfig.cjs.json"]) {
  execFileSync("npx", ["tsc", "-p", project], { stdio: "inherit" });
}
writeFileSync("dist/cjs/package.json", JSON.stringify({ type: "commonjs" }));
