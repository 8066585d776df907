import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";

/** Resolves the libraries of which `test/older` has older versions there. */
const older = (): Plugin => ({
  name: "older",
  enforce: "pre",
  resolveId(source, _importer, options) {
    if (!/^(react|react-dom|ai|@ai-sdk\/react)(\/|$)/.test(source)) return undefined;
    const importer = fileURLToPath(new URL("test/older/package.json", import.meta.url));
    return this.resolve(source, importer, { ...options, skipSelf: true });
  },
});

/** Provides the first page of each section of the README and of adapters.md, which imports `url`, `agentId` and `getToken`. */
const readme = (): Plugin => ({
  name: "readme",
  enforce: "pre",
  resolveId(source, importer) {
    const name = /^readme:(.*)/.exec(source)?.[1];
    if (name !== undefined) return fileURLToPath(new URL(`test/readme/${name}.tsx`, import.meta.url));
    // One for each example, since each test has settings of its own.
    if (source === "./config.js") return `\0config of ${importer}`;
    const path = /^agent-service-client(\/.*)?$/.exec(source);
    return path && this.resolve(fileURLToPath(new URL(`src${path[1] ?? "/index"}`, import.meta.url)));
  },
  load(id) {
    if (id.startsWith("\0config")) return "export const { url, agentId, getToken } = globalThis.settings;";
    const name = /test\/readme\/(.*)\.tsx$/.exec(id)?.[1];
    if (name === undefined) return undefined;
    const text = ["README.md", "adapters.md"].map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).join("\n");
    return text.split(`\n## ${name}\n`)[1]?.split("```tsx\n")[1]?.split("```")[0];
  },
});

const newest = {
  extends: true,
  plugins: [readme()],
  test: { name: "newest", env: { REACT: "19", AI_SDK: "7" }, include: ["test/*.test.{ts,tsx}"] },
} as const;
const oldest = {
  extends: true,
  plugins: [older()],
  // As modules, whose imports can be resolved.
  resolve: { alias: { "@testing-library/react": "@testing-library/react/dist/@testing-library/react.esm.js" } },
  test: {
    name: "older",
    env: { REACT: "18", AI_SDK: "6" },
    include: ["test/{ai,react}.test.tsx"],
    server: { deps: { inline: [/@testing-library\/react/] } },
  },
} as const;
/** Tests that depend on the store run again on Postgres, if there is a server. */
const postgres = {
  extends: true,
  test: { name: "postgres", env: { STORE: "postgres" }, include: ["test/{chat,conversation*,cuts,events,rest}.test.ts"] },
} as const;
const measures = { extends: true, test: { name: "measures", include: ["test/measures/*.ts"], testTimeout: 120_000 } } as const;

// Tests start services and repeat runs, on slow machines too.
export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    setupFiles: "test/setup.ts",
    // Tests mostly wait, so several can share a core.
    maxWorkers: 3,
    projects: [newest, oldest, measures, ...(process.env.TEST_DATABASE_URL ? [postgres] : [])],
  },
  // The helpers of the service's own tests use the libraries of this package.
  resolve: { dedupe: ["esbuild", "playwright-core"] },
});
