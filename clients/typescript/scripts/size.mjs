// Measures the client as a page would load it: bundled, minified and compressed. Fails above the
// limit.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 8 * 1024;

const built = await build({
  entryPoints: ["src/index.ts"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  write: false,
});
const bytes = gzipSync(built.outputFiles[0].contents, { level: 9 }).length;
console.log(`${bytes} of ${LIMIT} bytes (minified, gzip)`);
if (bytes > LIMIT) process.exitCode = 1;
