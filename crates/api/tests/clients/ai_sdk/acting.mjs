// An agent that acts, with `useChat` of AI SDK 6 and 7 in a page: `node acting.mjs BINARY 6|7`.
import { acting, actionCases } from "../action_cases.mjs";
import { runPage } from "../run_page.mjs";
import { packagesOf } from "./versions.mjs";

const major = process.argv[3] ?? "7";

await runPage({
  name: `ai-sdk-${major}-acting`,
  source: { folder: import.meta.dirname, file: "acting.jsx", alias: packagesOf(major) },
  config: acting,
  cases: (tools) => actionCases(tools).cases,
});
