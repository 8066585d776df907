import { defineConfig } from "vitest/config";

// Tests start services and repeat runs, on slow machines too.
export default defineConfig({
  test: { testTimeout: 60_000, hookTimeout: 60_000 },
  // The helpers of the service's own tests use the libraries of this package.
  resolve: { dedupe: ["esbuild", "playwright-core"] },
});
