import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { dedupe: ["esbuild", "playwright-core"] },
  // They mostly wait. A test that is still running after two minutes is stuck.
  test: { testTimeout: 120_000, hookTimeout: 60_000, maxWorkers: 3 },
});
