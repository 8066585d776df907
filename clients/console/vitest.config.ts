import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { dedupe: ["esbuild", "playwright-core"] },
  // They mostly wait.
  test: { testTimeout: 60_000, hookTimeout: 30_000, maxWorkers: 3 },
});
