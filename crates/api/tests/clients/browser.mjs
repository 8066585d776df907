// Chromium, and the pages that it shows: each is bundled from one file, and has an origin of its own.
import { accessSync, constants } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { build } from "esbuild";
import { chromium } from "playwright-core";

// The names of Chromium in the search path.
const NAMES = ["chromium", "chromium-browser", "google-chrome"];

const isProgram = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const findChromium = () => {
  const folders = process.env.PATH.split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (found === undefined) throw new Error("Chromium is missing: install it, for example by `apt-get install chromium`");
  return found;
};

// Starts Chromium; `more` are further arguments.
export const startBrowser = (more = []) =>
  chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox", "--headless=new", "--disable-dev-shm-usage", ...more] });

// Provides modules of a page from memory: `modules` maps their paths, such as `./settings.js`, to their text.
const inMemory = (modules) => ({
  name: "in-memory",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\// }, ({ path }) => (path in modules ? { path, namespace: "in-memory" } : undefined));
    onLoad({ filter: /.*/, namespace: "in-memory" }, ({ path }) => ({ contents: modules[path] }));
  },
});

// Bundles a file of a folder, or the text of one. `alias` maps names of packages to others.
const bundle = async ({ folder, file, text, alias = {}, modules = {} }) => {
  const require = createRequire(join(folder, "package.json"));
  // Packages that bring a React of their own use that of the page.
  const react = ["react", "react-dom"].map((name) => [name, require.resolve(name).replace(/index\.js$/, "")]);
  const entry = text === undefined ? { entryPoints: [join(folder, file)] } : { stdin: { contents: text, loader: "jsx", resolveDir: folder } };
  const { outputFiles } = await build({
    ...entry,
    bundle: true,
    write: false,
    absWorkingDir: folder,
    outdir: folder,
    format: "esm",
    jsx: "automatic",
    alias: { ...alias, ...Object.fromEntries(react) },
    plugins: [inMemory(modules)],
    define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".woff": "dataurl", ".woff2": "dataurl", ".ttf": "dataurl" },
    logLevel: "error",
  });
  const textOf = (suffix) => outputFiles.find(({ path }) => path.endsWith(suffix))?.text ?? "";
  return { script: textOf(".js"), style: textOf(".css") };
};

const HTML = `<!doctype html><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css"><div id="root"></div><script type="module" src="/page.js"></script>`;

// Serves one page. `handle` responds to requests with other paths below `/api/`.
export const servePage = async (source, handle) => {
  const { script, style } = await bundle(source);
  const files = { "/page.js": ["text/javascript", script], "/page.css": ["text/css", style] };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    if (pathname.startsWith("/api/") && handle) return handle(request, response);
    const [type, content] = files[pathname] ?? ["text/html", HTML];
    response.setHeader("content-type", `${type}; charset=utf-8`);
    return response.end(content);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    port: server.address().port,
    origin: `http://127.0.0.1:${server.address().port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
};
