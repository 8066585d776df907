import { readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Writes the table of the built files, from which the service embeds them. */
const embeddedFiles = (): Plugin => {
  let output = "";
  return {
    name: "embedded-files",
    apply: "build",
    configResolved({ build }) {
      output = build.outDir;
    },
    closeBundle() {
      const files = readdirSync(output, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const paths = files.map(({ parentPath, name }) => relative(output, join(parentPath, name))).sort();
      const rows = paths.map((path) => `    ("${path}", include_bytes!("${path}")),\n`);
      const header = "//! Written by `npm run build` in `clients/console`.\n\n";
      writeFileSync(`${output}/files.rs`, `${header}pub(super) const FILES: &[(&str, &[u8])] = &[\n${rows.join("")}];\n`);
    },
  };
};

/** Loads code on demand by a plain import: the helper of Vite would preload its styles and modules, of which there are none. */
const plainImports = (): Plugin => ({
  name: "plain-imports",
  apply: "build",
  enforce: "pre",
  load: (id) => (id.endsWith("vite/preload-helper.js") ? "export const __vitePreload = (load) => load();" : undefined),
});

/** Leaves out the attributes of SVG, which Markdown does not have. */
const withoutSvg = (): Plugin => ({
  name: "without-svg",
  apply: "build",
  load: (id) =>
    id.endsWith("property-information/lib/svg.js") ? 'export const svg = { properties: {}, normal: {}, space: "svg" };' : undefined,
});

export default defineConfig({
  base: "./",
  plugins: [react(), plainImports(), withoutSvg(), embeddedFiles()],
  // The linked client has a React of its own, and so have the helpers of the service's tests.
  resolve: { dedupe: ["react", "react-dom", "esbuild", "playwright-core"] },
  build: {
    outDir: join(import.meta.dirname, "../../crates/http/documents/console"),
    emptyOutDir: true,
    target: "es2022",
    // The policy of the page forbids data: URLs of scripts and inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
  // `npm run dev` shows the console of a service on the usual port.
  server: { proxy: { "^/(api|readyz|metrics)": { target: "http://127.0.0.1:8080", ws: true } } },
});
