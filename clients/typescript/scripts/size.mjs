// Measures the client as a page would load it: bundled, minified and compressed. The code of the
// shared connection is loaded when a page follows something. Fails above the limits.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const KIB = 1024;
const core = `export * from "./src/index.ts"`;

/** Returns the bytes that a page loads at once, and those that it loads on demand. */
const sizeOf = async (contents) => {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: "." },
    external: ["react", "@assistant-ui/react"],
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2022",
    outdir: "dist",
    write: false,
    metafile: true,
  });
  const outputs = Object.entries(metafile.outputs);
  const atOnce = new Set();
  const load = (name) => {
    atOnce.add(name);
    for (const { path, kind } of metafile.outputs[name].imports) if (kind === "import-statement" && path in metafile.outputs) load(path);
  };
  load(outputs.find(([, { entryPoint }]) => entryPoint === "<stdin>")[0]);
  const bytes = { atOnce: 0, onDemand: 0 };
  for (const [name] of outputs) {
    const { contents } = outputFiles.find(({ path }) => path.endsWith(name));
    bytes[atOnce.has(name) ? "atOnce" : "onDemand"] += gzipSync(contents, { level: 9 }).length;
  }
  return bytes;
};

const check = (name, bytes, limit) => {
  console.log(`${name}: ${bytes} of ${limit} bytes (minified, gzip)`);
  if (bytes > limit) process.exitCode = 1;
};

check("core", (await sizeOf(core)).atOnce, 9.375 * KIB);
const hooks = { useChat: [`{ useChat }`, 13.40625 * KIB, 9.59375 * KIB], "all hooks": ["*", 14.96875 * KIB] };
for (const [name, [exported, limit, limitAtOnce]] of Object.entries(hooks)) {
  const { atOnce, onDemand } = await sizeOf(`${core}; export ${exported} from "./src/react.ts"`);
  if (limitAtOnce) check(`core and ${name}, loaded at once`, atOnce, Math.floor(limitAtOnce));
  check(`core and ${name}, with the shared connection`, atOnce + onDemand, limit);
}
const adapters = { ai: "ai/index", "assistant-ui": "assistant-ui/index", tanstack: "tanstack" };
for (const [name, file] of Object.entries(adapters))
  check(name, (await sizeOf(`export * from "./src/${file}.ts"`)).atOnce, Math.floor(4.4 * KIB));
