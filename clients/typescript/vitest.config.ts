import { defineConfig } from "vitest/config";

// Tests start services and repeat runs, on slow machines too.
export default defineConfig({ test: { testTimeout: 60_000, hookTimeout: 60_000 } });
