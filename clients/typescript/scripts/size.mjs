// Measures the client as a page would load it: bundled, minified and compressed. Fails above the
// limit.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMITS = { "src/index.ts": 8 * 1024 };

for (const [entry, limit] of Object.entries(LIMITS)) {
  const built = await build({ entryPoints: [entry], bundle: true, minify: true, format: "esm", target: "es2022", write: false });
  const bytes = gzipSync(built.outputFiles[0].contents, { level: 9 }).length;
  console.log(`${entry}: ${bytes} of ${limit} bytes (minified, gzip)`);
  if (bytes > limit) process.exitCode = 1;
}
