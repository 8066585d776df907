// Measures the client as a page would load it: bundled, minified and compressed. The code of the
// shared connection is loaded when a page follows something, that of files with the first file. Fails above the limits.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const KIB = 1024;
const core = `export * from "./src/index.ts"`;

/** Returns the bytes that a page loads at once, those of files, and those that it loads otherwise on demand. */
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
  const bytes = { atOnce: 0, files: 0, onDemand: 0 };
  const kindOf = (name, entryPoint) => (atOnce.has(name) ? "atOnce" : entryPoint === "src/files.ts" ? "files" : "onDemand");
  for (const [name, { entryPoint }] of outputs) {
    const { contents } = outputFiles.find(({ path }) => path.endsWith(name));
    bytes[kindOf(name, entryPoint)] += gzipSync(contents, { level: 9 }).length;
  }
  return bytes;
};

const check = (name, bytes, limit) => {
  console.log(`${name}: ${bytes} of ${limit} bytes (minified, gzip)`);
  if (bytes > limit) process.exitCode = 1;
};

const { atOnce, files } = await sizeOf(core);
check("core", atOnce, 9.875 * KIB);
check("files, on demand", files, 1.4375 * KIB);
const hooks = { useChat: [`{ useChat }`, 14.03125 * KIB, 10.125 * KIB], "all hooks": ["*", 15.75 * KIB] };
for (const [name, [exported, limit, limitAtOnce]] of Object.entries(hooks)) {
  const { atOnce, onDemand } = await sizeOf(`${core}; export ${exported} from "./src/react.ts"`);
  if (limitAtOnce) check(`core and ${name}, loaded at once`, atOnce, Math.floor(limitAtOnce));
  check(`core and ${name}, with the shared connection`, atOnce + onDemand, limit);
}
const adapters = { ai: "ai/index", "assistant-ui": "assistant-ui/index", tanstack: "tanstack" };
for (const [name, file] of Object.entries(adapters)) {
  const limit = name === "assistant-ui" ? 5.0625 * KIB : 4.43 * KIB;
  check(name, (await sizeOf(`export * from "./src/${file}.ts"`)).atOnce, Math.floor(limit));
}
