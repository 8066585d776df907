import { defineConfig } from "vitest/config";

const sqlite = { extends: true, test: { name: "sqlite" } } as const;
/** What depends on the store runs again on Postgres, if there is a server. */
const postgres = {
  extends: true,
  test: { name: "postgres", env: { STORE: "postgres" }, include: ["test/{chat,conversation,cuts,events,rest}.test.ts"] },
} as const;

// Tests start services and repeat runs, on slow machines too.
export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // They mostly wait.
    maxWorkers: 3,
    projects: process.env.TEST_DATABASE_URL ? [sqlite, postgres] : [sqlite],
  },
  // The helpers of the service's own tests use the libraries of this package.
  resolve: { dedupe: ["esbuild", "playwright-core"] },
});
