// An agent that acts, with assistant-ui in a page: `node assistant_ui_acting.mjs BINARY agent|offers`,
// with a tool of the agent, or with one that the page offers.
import { acting, actingWithOffers, actionCases } from "../action_cases.mjs";
import { runPage } from "../run_page.mjs";
import { packagesOf } from "./versions.mjs";

const offers = process.argv[3] === "offers";

await runPage({
  name: `assistant-ui-${offers ? "offers" : "agent"}-acting`,
  source: { folder: import.meta.dirname, file: "assistant_ui_acting.jsx", alias: packagesOf("7") },
  config: offers ? actingWithOffers : acting,
  settings: () => (offers ? { offers: "" } : {}),
  cases: (tools) => actionCases(tools).cases,
});
