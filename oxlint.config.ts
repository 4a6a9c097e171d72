import { readdirSync } from "node:fs";
import { defineConfig, type OxlintOverride } from "oxlint";

/**
 * Import directions (docs/adr/0001-architecture.md). A module may import itself, `lib`, and the
 * modules listed here; everything else is an error. Imports go downward only; siblings never import
 * each other.
 */
export const modules: Record<string, string[]> = {
  lib: [],
  protocol: ["lib"],
  "protocol/client": ["protocol", "lib"],
  telemetry: ["lib"],
  "command-line": ["lib"],
  "operator/lib": ["lib"],
  "operator/api": ["operator/lib", "lib"],
  "operator/template": ["operator/lib", "lib"],
  "operator/kube": ["operator/lib", "lib"],
  "operator/runtime": ["operator/lib", "lib"],
  "operator/vault-client": ["protocol", "operator/lib", "lib"],
  "operator/sync": ["operator/api", "operator/template", "operator/lib", "lib"],
  "operator/restart": ["operator/api", "operator/lib", "lib"],
  "operator/connection": [
    "operator/sync",
    "operator/api",
    "operator/kube",
    "operator/vault-client",
    "operator/lib",
    "protocol",
    "lib",
  ],
  "operator/push": [
    "operator/sync",
    "operator/api",
    "operator/kube",
    "operator/vault-client",
    "operator/lib",
    "lib",
  ],
  "operator/controllers": [
    "operator/connection",
    "operator/push",
    "operator/sync",
    "operator/template",
    "operator/restart",
    "operator/api",
    "operator/runtime",
    "operator/kube",
    "operator/vault-client",
    "operator/lib",
    "protocol",
    "lib",
  ],
  "operator/doctor": [
    "operator/controllers",
    "operator/connection",
    "operator/api",
    "operator/kube",
    "operator/vault-client",
    "operator/lib",
    "protocol",
    "lib",
  ],
  "operator/shards": ["operator/api", "operator/kube", "operator/lib", "lib"],
  // Commands stand on the pure core, and never on the controllers.
  "operator/cli": [
    "operator/doctor",
    "operator/connection",
    "operator/sync",
    "operator/restart",
    "operator/template",
    "operator/api",
    "operator/kube",
    "operator/lib",
    "command-line",
    "telemetry",
    "protocol/client",
    "protocol",
    "lib",
  ],
  "vault/server": ["protocol", "telemetry", "lib"],
  // The vault's web application: runs in the browser, bundled by scripts/build-web.ts.
  "vault/web": ["protocol", "lib"],
  "vault/cli": ["vault/server", "command-line", "telemetry", "protocol/client", "protocol", "lib"],
};

/**
 * Directions inside a module: a sub-folder may import itself, and of its module only the
 * sub-folders and root files listed here.
 */
export const inner: Record<string, Record<string, string[]>> = {
  "operator/controllers": {
    outcome: [],
    connection: ["outcome"],
    "fan-out": ["outcome"],
    sync: ["connection", "fan-out", "outcome"],
    push: ["sync", "connection", "outcome"],
    restart: ["outcome"],
  },
  "operator/kube": {
    credentials: [],
    client: ["credentials", "resource", "kube-error"],
    cache: ["client", "resource", "kube-error", "request-problems"],
    "leader-election": ["client", "resource", "kube-error", "request-problems"],
  },
  "operator/vault-client": {
    http: ["vault-error", "observer"],
    readers: ["connection", "vault-error"],
    auth: ["http", "readers", "connection", "pattern", "single-flight", "vault-error"],
    mirror: ["http", "readers", "vault-api", "connection", "pattern", "vault-error"],
    values: ["vault-api", "connection", "single-flight", "vault-error", "observer"],
    writes: ["http", "readers", "vault-api", "connection", "vault-error"],
  },
  "vault/server": {
    crypto: ["free-buffer"],
    store: ["crypto", "long-work"],
    backup: ["store", "crypto"],
    http: ["store", "crypto", "errors", "long-work"],
    audit: ["http", "store", "crypto", "errors"],
    access: ["store", "errors"],
    protection: ["audit", "http", "store", "errors", "limits", "long-work", "metrics"],
    accounts: ["protection", "access", "http", "store", "context", "errors", "limits"],
    mail: ["accounts", "store", "context", "metrics"],
    "web-app": ["accounts", "http", "context"],
    identities: ["protection", "accounts", "http", "store", "context", "errors"],
    teams: ["protection", "accounts", "access", "http", "store", "context", "errors"],
    files: [
      "protection",
      "accounts",
      "http",
      "store",
      "crypto",
      "context",
      "errors",
      "free-buffer",
      "long-work",
    ],
    secrets: [
      "protection",
      "accounts",
      "access",
      "http",
      "store",
      "crypto",
      "context",
      "errors",
      "limits",
    ],
    "secret-lists": [
      "secrets",
      "protection",
      "accounts",
      "access",
      "http",
      "store",
      "context",
      "errors",
    ],
    consumers: ["secrets", "accounts", "access", "http", "store", "context", "errors"],
    rotation: ["secrets", "files", "audit", "store", "crypto"],
    "hand-over": ["secrets", "files", "store", "crypto", "limits"],
    renaming: [
      "hand-over",
      "protection",
      "secrets",
      "accounts",
      "access",
      "store",
      "crypto",
      "context",
      "errors",
    ],
    trash: [
      "renaming",
      "hand-over",
      "protection",
      "secrets",
      "files",
      "accounts",
      "access",
      "http",
      "store",
      "context",
      "errors",
    ],
    sharing: [
      "protection",
      "secrets",
      "teams",
      "accounts",
      "access",
      "http",
      "store",
      "context",
      "errors",
    ],
    routes: [
      "sharing",
      "consumers",
      "trash",
      "renaming",
      "secret-lists",
      "secrets",
      "files",
      "teams",
      "web-app",
      "identities",
      "accounts",
      "protection",
      "http",
      "context",
      "errors",
      "limits",
    ],
  },
  "vault/web": {
    routing: [],
    text: [],
    service: ["text"],
    session: ["service"],
    parts: ["routing", "service", "text"],
    pages: ["parts", "routing", "service", "session", "text"],
  },
};

/** Packages that only these modules may load at run time (types are free). */
const packages: Record<string, string[]> = {
  "@kubernetes/client-node": ["operator/kube"],
  undici: ["operator/kube", "operator/vault-client", "protocol/client"],
  fastify: ["vault/server"],
  "@fastify/*": ["vault/server"],
  jose: ["vault/server"],
  "node:sqlite": ["vault/server"],
  pg: ["vault/server"],
  nodemailer: ["vault/server"],
  "@zxcvbn-ts/*": ["vault/server"],
  unhomoglyph: ["vault/server"],
  preact: ["vault/web"],
  "preact/*": ["vault/web"],
  pino: ["telemetry"],
  "prom-client": ["telemetry"],
  commander: ["command-line", "operator/cli", "vault/cli"],
  liquidjs: ["operator/template"],
  asn1js: ["operator/template"],
  bcryptjs: ["operator/template"],
  leven: ["operator/lib"],
  re2js: ["operator/lib"],
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

/** Matches a relative import from a module into one of `names`, from any depth. */
function entering(module: string, names: string[]): string {
  const from = module.split("/");
  const below = names.map((name) => {
    const parts = name.split("/");
    const shared = parts.findIndex((part, index) => part !== from[index]);
    return parts.slice(shared).join("/");
  });
  return `^(?:\\./|(?:\\.\\./)+)(?:${below.join("|")})/`;
}

interface ImportPattern {
  readonly regex?: string;
  readonly group?: string[];
  readonly allowTypeImports?: boolean;
  readonly message: string;
}

function outwardPatterns(module: string, below: string[]): ImportPattern[] {
  const closedModules = Object.keys(modules).filter(
    (name) => name !== module && !below.includes(name),
  );
  const otherPrograms = ["operator", "vault"].filter((name) => !module.startsWith(`${name}/`));
  const closedPackages = Object.keys(packages).filter((name) => !packages[name]?.includes(module));
  return [
    {
      regex: entering(module, [...closedModules, ...otherPrograms]),
      message: `src/${module} must not import this module.`,
    },
    {
      group: closedPackages,
      allowTypeImports: true,
      message: `src/${module} must not load this package.`,
    },
  ];
}

/** Returns how many levels of folders a folder has, itself included. */
function levels(path: string): number {
  const below = readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => levels(`${path}/${name}`));
  return 1 + Math.max(0, ...below);
}

/**
 * Matches an import from a sub-folder, at any depth in it, into the rest of its module, except into
 * one of `names`.
 */
function inwardPattern(module: string, folder: string, names: string[]): ImportPattern {
  const path = `${import.meta.dirname}/src/${module}`;
  const closed = readdirSync(path)
    .map((entry) => entry.replace(/\.tsx?$/, ""))
    .filter((entry) => entry !== folder && !names.includes(entry) && !entry.endsWith(".test"));
  return {
    regex: `^(?:\\.\\./){1,${levels(`${path}/${folder}`)}}(?:${closed.join("|")})(?:/|\\.tsx?$)`,
    message: `${folder}/ must not import this file of its module.`,
  };
}

function restriction(files: string, patterns: ImportPattern[]): OxlintOverride {
  return {
    files: [files],
    excludeFiles: ["**/*.test.ts"],
    rules: { "no-restricted-imports": ["error", { patterns }] },
  };
}

/**
 * Returns the overrides of a module and its sub-folders. A later override replaces an earlier one,
 * so each repeats the patterns above it.
 */
function boundaries([module, below]: [string, string[]]): OxlintOverride[] {
  const outward = outwardPatterns(module, below);
  return [
    restriction(`src/${module}/**/*.{ts,tsx}`, outward),
    ...Object.entries(inner[module] ?? {}).map(([folder, names]) =>
      restriction(`src/${module}/${folder}/**/*.{ts,tsx}`, [
        ...outward,
        inwardPattern(module, folder, names),
      ]),
    ),
  ];
}

export default defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "vitest"],
  categories: { correctness: "error", suspicious: "error" },
  rules: {
    "import/no-cycle": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: true },
    ],
    "typescript/consistent-type-imports": "error",
    "typescript/no-non-null-assertion": "error",
    "max-lines-per-function": ["error", { max: 80, skipBlankLines: true, skipComments: true }],
    // A switch counts once: one over a closed union is the rule here, however many members it has.
    complexity: ["error", { max: 12, variant: "modified" }],
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
    ...Object.entries(modules).flatMap(boundaries),
    {
      files: ["src/lib/**"],
      rules: { "no-restricted-properties": "off", "no-restricted-globals": "off" },
    },
    {
      files: ["**/*.test.ts", "test/**", "scripts/**", "*.config.ts"],
      rules: {
        "no-restricted-properties": "off",
        "no-restricted-globals": "off",
        "max-lines-per-function": "off",
        complexity: "off",
        "typescript/no-non-null-assertion": "off",
        "typescript/no-unsafe-type-assertion": "off",
        "vitest/valid-expect": ["error", { maxArgs: 2 }],
        // Waiting for a state, and failing when it does not come, is an assertion.
        "vitest/expect-expect": [
          "error",
          {
            assertFunctionNames: [
              "expect",
              "world.ready",
              "world.until",
              "world.untilReason",
              "world.has",
              "world.gone",
              "**.waitFor",
              "expectRecovery",
              "expectAlerts",
              "expectAlertsSoon",
            ],
          },
        ],
      },
    },
  ],
  ignorePatterns: ["dist", "node_modules"],
});
