import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { dedupe: ["esbuild", "playwright-core"] },
  // Tests mostly wait for the browser. The longest take 20 s alone, and three times as long on a busy machine.
  test: { testTimeout: 120_000, hookTimeout: 60_000, maxWorkers: 3 },
});
