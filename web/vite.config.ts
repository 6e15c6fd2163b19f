// Builds the page into the Python package: one script and one style sheet, so that they can also be put into a single file.
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./", // the page may be in any folder of a server
  build: {
    outDir: "../src/keyframer/viewer/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    chunkSizeWarningLimit: 2000,
    target: "es2022",
  },
  test: { testTimeout: 600_000 }, // ends tests that hang; no test depends on the clock
});
