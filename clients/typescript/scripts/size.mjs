// Measures the client as a page would load it: bundled, minified and compressed. Fails above the
// limit.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const KIB = 1024;
const LIMITS = [
  { name: "core", code: `export * from "./src/index.ts"`, limit: 8 * KIB },
  { name: "core and React", code: `export * from "./src/index.ts"; export * from "./src/react.ts"`, limit: 11 * KIB },
];

for (const { name, code, limit } of LIMITS) {
  const stdin = { contents: code, resolveDir: "." };
  const built = await build({ stdin, external: ["react"], bundle: true, minify: true, format: "esm", target: "es2022", write: false });
  const bytes = gzipSync(built.outputFiles[0].contents, { level: 9 }).length;
  console.log(`${name}: ${bytes} of ${limit} bytes (minified, gzip)`);
  if (bytes > limit) process.exitCode = 1;
}
