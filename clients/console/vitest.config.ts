import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { dedupe: ["esbuild", "playwright-core"] },
  test: { testTimeout: 30_000, hookTimeout: 30_000 },
});
