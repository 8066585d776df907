// The package in the projects of others: its files, `import` and `require`, and its types.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { folder as example } from "./example.js";
import { compile, installPackage, libraryFolder } from "./package.js";

const here = fileURLToPath(new URL("./", import.meta.url));
let project: ReturnType<typeof installPackage>;

beforeAll(() => {
  const libraries = ["react", "@types/react", "@types/react-dom", "csstype"].map((name) => [name, libraryFolder(name)]);
  const shown = ["react-markdown", "remark-gfm"].map((name) => [name, join(example, "node_modules", name)]);
  project = installPackage(Object.fromEntries([...libraries, ...shown]));
});
afterAll(() => project?.remove());

const read = (file: string): string => readFileSync(join(project.installed, file), "utf8");
const filesOf = (value: unknown): string[] => (typeof value === "string" ? [value] : Object.values(value as object).flatMap(filesOf));

test("every entry of the package exists, and so do its licences and the sources of its source maps", () => {
  const { main, types, typesVersions, exports } = JSON.parse(read("package.json"));
  const files = filesOf({ main, types, typesVersions, exports });
  expect(files).toContain("./package.json");
  expect(files.length).toBeGreaterThan(30);
  expect(["LICENSE-MIT", "LICENSE-APACHE", ...files].filter((file) => !existsSync(join(project.installed, file)))).toEqual([]);
  const built = (readdirSync(join(project.installed, "dist"), { recursive: true }) as string[]).map((file) => join("dist", file));
  const maps = built.filter((file) => file.endsWith(".js.map"));
  expect(maps.length).toBe(built.filter((file) => file.endsWith(".js")).length);
  const sources = maps.flatMap((map) => (JSON.parse(read(map)).sources as string[]).map((source) => join(dirname(map), source)));
  expect(sources.filter((source) => !existsSync(join(project.installed, source)))).toEqual([]);
});

test.each(["react", "assistant-ui/index"])("frameworks that render on a server know that `%s` is for the client", (name) => {
  expect(read(`dist/${name}.js`).split("\n")[0]).toBe('"use client";');
  expect(read(`dist/cjs/${name}.js`).split("\n").slice(0, 2)).toEqual(['"use strict";', '"use client";']);
});

test.each(["README.md", "adapters.md", "frameworks.md"])("no link of %s leads out of the package", (document) => {
  const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]*)/g)].map(([, link]) => link!).filter((link) => link !== "");
  expect(links.length).toBeGreaterThan(0);
  expect(links.filter((link) => !existsSync(join(project.installed, link)))).toEqual([]);
});

test.each([
  ["import", "module", (name: string) => `Object.keys(await import("${name}"))`],
  ["require", "commonjs", (name: string) => `Object.keys(require("${name}"))`],
])("each entry can be loaded by `%s`", (_, type, load) => {
  const entries = {
    "": "createClient",
    "/react": "useChat",
    "/regions": "nearestRegion",
    "/stores": "liveAgent",
    "/upload": "fetchWithProgress",
    "/ai": "createChatTransport",
    "/tanstack": "agentsQuery",
  };
  for (const [entry, name] of Object.entries(entries)) {
    const script = `console.log(${load(`agent-service-client${entry}`)}.join())`;
    const output = execFileSync(process.execPath, [`--input-type=${type}`, "-e", script], { cwd: project.folder, encoding: "utf8" });
    expect(output.trim().split(",")).toContain(name);
  }
});

const consumers = ["consumer.ts", "options.ts"].map((name) => [name, readFileSync(join(here, "consumer", name), "utf8")] as const);
test.each([
  ["oldest", "module", "Node16", "Node16"],
  ["oldest", "module", "ESNext", "Bundler"],
  ["oldest", "commonjs", "Node16", "Node16"],
  ["oldest", "commonjs", "CommonJS", "Node10"],
  ["newest", "module", "NodeNext", "NodeNext"],
  ["newest", "module", "ESNext", "Bundler"],
  ["newest", "commonjs", "Node16", "Node16"],
] as const)("a strict project compiles with the %s TypeScript: %s, %s, %s", (version, type, module, moduleResolution) => {
  const folder = `${version}-${type}-${moduleResolution}`;
  for (const [name, text] of consumers) project.write(`${folder}/${name}`, text);
  project.write(`${folder}/package.json`, JSON.stringify({ type }));
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false };
  const compilerOptions = { ...strict, target: "ES2022", lib: ["ES2022", "DOM"], types: [], noEmit: true, module, moduleResolution };
  project.write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions }));
  expect(compile(version, join(project.folder, folder))).toBe("");
});

test.each(["oldest", "newest"] as const)(
  "the pages of the documents and of the example compile, strict, with the %s TypeScript",
  (version) => {
    const [readme, adapters] = [read("README.md"), read("adapters.md")];
    project.write("pages/config.ts", /```js\n(\/\/ config.js\n[^]*?)```/.exec(readme)![1]!);
    const pages = [...`${readme}${adapters}`.matchAll(/```tsx\n([^]*?)```/g)].map(([, page]) => page!);
    // Those of the adapters need the newest versions of their libraries.
    expect(pages.length).toBe(6);
    project.write("pages/react.tsx", pages[0]!);
    project.write("pages/search.tsx", pages[1]!);
    project.write("pages/calls.tsx", pages[2]!);
    for (const file of ["main.tsx", "files.tsx", "globals.d.ts"])
      project.write(`pages/${file}`, readFileSync(join(example, "src", file), "utf8"));
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      target: "ES2022",
      lib: ["ES2022", "DOM", "DOM.Iterable"],
      types: [],
      noEmit: true,
      module: "ESNext",
      moduleResolution: "Bundler",
      jsx: "react-jsx",
    };
    project.write("pages/tsconfig.json", JSON.stringify({ compilerOptions }));
    expect(compile(version, join(project.folder, "pages"))).toBe("");
  },
);

test("the code uses no method that browsers have got since the oldest TypeScript was published", () => {
  const compilerOptions = { noEmit: true, target: "ES2022", lib: ["ES2023", "DOM", "DOM.Iterable"], types: [], allowJs: false };
  const [src, newer] = [join(here, "../src"), "newer.ts"];
  const exclude = ["ai", "assistant-ui"].map((name) => join(src, name));
  project.write(
    "browsers/tsconfig.json",
    JSON.stringify({ extends: join(here, "../tsconfig.json"), compilerOptions, include: [src, newer], exclude }),
  );
  project.write(`browsers/${newer}`, "export const { signal } = { signal: AbortSignal.any([]) };\n");
  const found = compile("oldest", join(project.folder, "browsers"))
    .split("\n")
    .filter((line) => / TS2(339|550|551|304):/.test(line));
  expect(found).toEqual([expect.stringContaining(newer)]);
});
