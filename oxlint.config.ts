import { defineConfig, type OxlintOverride } from "oxlint";

/**
 * Who may import whom (docs/adr/0001-architecture.md). A room imports itself, `lib`, and the rooms listed here;
 * everything else is refused. Arrows point down only.
 */
const rooms: Record<string, string[]> = {
  lib: [],
  protocol: ["lib"],
  api: ["lib"],
  runtime: ["lib"],
  telemetry: ["lib"],
  kube: ["lib"],
  vault: ["protocol", "lib"],
  sync: ["api", "lib"],
  controllers: ["sync", "api", "runtime", "kube", "vault", "protocol", "lib"],
  operator: ["controllers", "sync", "api", "runtime", "kube", "vault", "telemetry", "lib"],
  "vault-server": ["protocol", "telemetry", "lib"],
  // The web application: runs in the browser, bundled by scripts/build-web.ts.
  web: ["protocol", "lib"],
  cli: ["operator", "vault-server", "api", "telemetry", "protocol", "lib"],
};

/** Packages that only these rooms may load at run time (types are free). */
const packages: Record<string, string[]> = {
  "@kubernetes/client-node": ["kube"],
  undici: ["kube", "vault"],
  fastify: ["vault-server"],
  "@fastify/*": ["vault-server"],
  "node:sqlite": ["vault-server"],
  pg: ["vault-server"],
  nodemailer: ["vault-server"],
  preact: ["web"],
  "preact/*": ["web"],
  pino: ["telemetry"],
  "prom-client": ["telemetry"],
  commander: ["cli"],
};

/** The outside world reaches the core through the ports of `lib`, so that it can be simulated. */
const ambientClock = [
  { object: "Date", property: "now", message: "Take a Clock (src/lib/clock.ts)." },
  { object: "Math", property: "random", message: "Take a Random (src/lib/random.ts)." },
];
const ambientTimers = ["setTimeout", "setInterval", "setImmediate"].map((name) => ({
  name,
  message: "Take a Clock (src/lib/clock.ts).",
}));

function boundary([room, below]: [string, string[]]): OxlintOverride {
  const closedRooms = Object.keys(rooms).filter((name) => name !== room && !below.includes(name));
  const closedPackages = Object.keys(packages).filter((name) => !packages[name]?.includes(room));
  return {
    files: [`src/${room}/**/*.{ts,tsx}`],
    excludeFiles: ["**/*.test.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { regex: `^\\.\\./(?:.*/)?(?:${closedRooms.join("|")})/`, message: `src/${room} may not enter this room.` },
            { group: closedPackages, allowTypeImports: true, message: `src/${room} may not load this package.` },
          ],
        },
      ],
    },
  };
}

export default defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "vitest"],
  categories: { correctness: "error", suspicious: "error" },
  rules: {
    "import/no-cycle": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "typescript/consistent-type-imports": "error",
    "typescript/no-non-null-assertion": "error",
    "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
    "no-restricted-properties": ["error", ...ambientClock],
    "no-restricted-globals": ["error", ...ambientTimers],
    // Sequential awaits are the rule in a reconcile; where they are a mistake, a review says so.
    "no-await-in-loop": "off",
    "import/no-unassigned-import": "off",
    "unicorn/no-array-sort": "off",
    "no-underscore-dangle": "off",
    // The compiler knows an exhaustive switch returns; this rule does not.
    "consistent-return": "off",
  },
  overrides: [
    ...Object.entries(rooms).map(boundary),
    {
      files: ["src/lib/**"],
      rules: { "no-restricted-properties": "off", "no-restricted-globals": "off" },
    },
    {
      files: ["**/*.test.ts", "test/**", "scripts/**", "bench/**", "*.config.ts"],
      rules: {
        "no-restricted-properties": "off",
        "no-restricted-globals": "off",
        "max-lines-per-function": "off",
        "typescript/no-non-null-assertion": "off",
        "typescript/no-unsafe-type-assertion": "off",
        "vitest/valid-expect": ["error", { maxArgs: 2 }],
        // Waiting for a state, and failing when it does not come, is an assertion.
        "vitest/expect-expect": [
          "error",
          { assertFunctionNames: ["expect", "world.ready", "world.until", "world.gone", "**.waitFor"] },
        ],
      },
    },
  ],
  ignorePatterns: ["dist", "node_modules"],
});
