// Chromium, and pages that esbuild bundles with one version of the AI SDK.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import puppeteer from "puppeteer-core";

const folder = fileURLToPath(new URL(".", import.meta.url));

const style = `body{font:15px/1.4 system-ui,sans-serif;max-width:640px;margin:24px auto;color:#222}
article{padding:4px 12px;margin:8px 0;border-radius:8px;background:#f2f2f4}article.user{background:#dcebff}
p{margin:6px 0;white-space:pre-wrap}pre{background:#fff;padding:6px;font-size:12px;white-space:pre-wrap}
[role=alert]{color:#a00}form{display:flex;gap:6px}input{flex:1}output{padding:2px 6px;background:#eee}`;

// Bundles a file of this folder, or the text of one.
const bundle = async ({ file, text }, major) => {
  const require = createRequire(import.meta.url);
  const alias = { ai: `ai-${major}`, "@ai-sdk/react": `@ai-sdk/react-${major}` };
  for (const name of ["react", "react-dom"]) alias[name] = require.resolve(name).replace(/index\.js$/, "");
  const built = await build({
    ...(file ? { entryPoints: [join(folder, file)] } : { stdin: { contents: text, loader: "jsx", resolveDir: folder } }),
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    alias,
    define: { "process.env.NODE_ENV": '"development"' },
    logLevel: "error",
  });
  return built.outputFiles[0].text;
};

// Serves one bundled page. Pages of its origin must be allowed to use the service.
export const servePage = async (source, major) => {
  const script = await bundle(source, major);
  const html = `<!doctype html><meta charset="utf-8"><title>Chat</title><style>${style}</style><div id="root"></div><script type="module" src="/page.js"></script>`;
  const server = createServer((request, response) => {
    const isScript = request.url.startsWith("/page.js");
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(isScript ? script : html);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const { port: bound } = server.address();
  return {
    origin: `http://127.0.0.1:${bound}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

export const startBrowser = () =>
  puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
