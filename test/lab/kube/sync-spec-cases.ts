import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

const entries = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`name-${at}`, "x"]));
const eitherOr = "must have either extract or find";
const property = "must be a JSON Pointer";

/** Returns the cases of what a VaultSecret makes of its sources. */
export function sourceCases(
  secret: (changes: object) => object,
  entry: (secretKey: string, remoteRef?: object) => object,
): readonly Case[] {
  return [
    ...["/a", "/a/0", "/", "/a~1b/m~0n", "/ä/😀"].map((good): Case => [
      `the property ${good}`,
      secret({ data: [entry("a", { property: good, decoding: "Base64URL" })] }),
    ]),
    ...["", "a", "#/a", "/a~", "/a~2", "$.a"].map((bad): Case => [
      `the property ${JSON.stringify(bad)}`,
      secret({ data: [entry("a", { property: bad })] }),
      bad === "" ? rejectedBySchema(property) : rejectedByRule(property),
    ]),
    [
      "a decoding in lower case",
      secret({ data: [entry("a", { decoding: "base64" })] }),
      rejectedBySchema("Base64URL"),
    ],
    [
      "dataFrom without data",
      secret({ data: undefined, dataFrom: [{ extract: { key: "config", version: 3 } }] }),
    ],
    [
      "an empty dataFrom",
      secret({ dataFrom: [] }),
      rejectedByRule("must have at least one entry, for example {extract"),
    ],
    [
      "an entry of dataFrom without extract and find",
      secret({ dataFrom: [{}] }),
      rejectedByRule(eitherOr),
    ],
    [
      "an entry of dataFrom with extract and find",
      secret({ dataFrom: [{ extract: { key: "config" }, find: { name: { regexp: "a" } } }] }),
      rejectedByRule(eitherOr),
    ],
    [
      "find by name and metadata",
      secret({ dataFrom: [{ find: { name: { regexp: "^a" }, metadata: { cloud_type: "aws" } } }] }),
    ],
    [
      "find without name and metadata",
      secret({ dataFrom: [{ find: {} }] }),
      rejectedByRule("must have name or metadata"),
    ],
    [
      "an empty rewrite",
      secret({ dataFrom: [{ find: { name: { regexp: "a" } }, rewrite: [] }] }),
      rejectedByRule("at least one entry"),
    ],
  ];
}

const WEB = { kind: "Deployment", name: "web" };
const reference = "must have either name or selector";

/** Cases of `spec.rolloutRestart`, of the specs that `make` returns with it. */
export function restartCases(make: (changes: object) => object): Case[] {
  const restarting = (...rolloutRestart: readonly object[]): object => make({ rolloutRestart });
  const selecting = (matchLabels: object): object =>
    restarting({ kind: "Rollout", selector: { matchLabels } });
  return [
    ["no workloads", restarting()],
    [
      "a workload of each kind",
      restarting(
        ...["Deployment", "StatefulSet", "DaemonSet", "Rollout"].map((kind) => ({ ...WEB, kind })),
      ),
    ],
    ["16 workloads", restarting(...Array.from({ length: 16 }, () => WEB))],
    [
      "17 workloads",
      restarting(...Array.from({ length: 17 }, () => WEB)),
      rejectedBySchema("<=16 items"),
    ],
    ["workloads of 16 labels", selecting(entries(16))],
    [
      "workloads of 17 labels",
      selecting(entries(17)),
      rejectedBySchema("must have 1 to 16 labels"),
    ],
    ["workloads without labels", selecting({}), rejectedBySchema("must have 1 to 16 labels")],
    [
      "workloads with a label of 64 characters",
      selecting({ app: "x".repeat(64) }),
      rejectedBySchema("<=63 characters"),
    ],
    [
      "a workload of another kind",
      restarting({ ...WEB, kind: "Pod" }),
      rejectedBySchema("Invalid option"),
    ],
    [
      "a workload in another namespace",
      restarting({ ...WEB, name: "other/web" }),
      rejectedByRule("must be the name of one workload"),
    ],
    ["a workload without a name", restarting({ kind: "Deployment" }), rejectedByRule(reference)],
    [
      "a workload with a name and a selector",
      restarting({ ...WEB, selector: { matchLabels: { app: "web" } } }),
      rejectedByRule(reference),
    ],
  ];
}

const labels = { team: "shop", "example.com/tier": "" };

/**
 * Returns specs with policies of the target; `secret` returns the spec of a VaultSecret with
 * changes.
 */
export const targetCases = (secret: (changes: object) => object): readonly Case[] => [
  [
    "every policy of a target",
    secret({ target: { creationPolicy: "Orphan", immutable: true, labels, annotations: labels } }),
  ],
  [
    "a target with Merge",
    secret({ target: { name: "app", creationPolicy: "Merge", whenRemoved: "Retain" } }),
  ],
  ...[{ type: "Opaque" }, { labels: {} }, { annotations: {} }, { immutable: false }].map(
    (bad): Case => [
      `a target with Merge and ${Object.keys(bad).join()}`,
      secret({ target: { creationPolicy: "Merge", ...bad } }),
      rejectedByRule("with creationPolicy Merge, which only adds keys"),
    ],
  ),
  [
    "a template",
    secret({ target: { template: { data: { ".dockerconfigjson": "{{ a }}", "b-c_d": "" } } } }),
  ],
  [
    "a template with Merge",
    secret({ target: { creationPolicy: "Merge", template: { data: { a: "{{ a }}" } } } }),
  ],
  ["64 templates", secret({ target: { template: { data: entries(64) } } })],
  [
    "65 templates",
    secret({ target: { template: { data: entries(65) } } }),
    rejectedBySchema("at most 64 entries"),
  ],
  [
    "a template of 16,384 characters",
    secret({ target: { template: { data: { a: "x".repeat(16_384) } } } }),
  ],
  [
    "a template that is too long",
    secret({ target: { template: { data: { a: "x".repeat(16_385) } } } }),
    rejectedBySchema("16384"),
  ],
  [
    "a template without keys",
    secret({ target: { template: { data: {} } } }),
    rejectedByRule("must have at least one entry"),
  ],
  [
    "a template without data",
    secret({ target: { template: {} } }),
    rejectedBySchema("expected record"),
  ],
  ...["a b", "..", "../a", "a/b", "", "x".repeat(254)].map((bad): Case => [
    `a template of the key ${JSON.stringify(bad).slice(0, 20)}`,
    secret({ target: { template: { data: { [bad]: "x" } } } }),
    rejectedByRule("the names must be keys"),
  ]),
  ["16 labels", secret({ target: { labels: entries(16) } })],
  [
    "17 labels",
    secret({ target: { labels: entries(17) } }),
    rejectedBySchema("at most 16 entries"),
  ],
  [
    "a label value with a space",
    secret({ target: { labels: { team: "a b" } } }),
    rejectedByRule("must consist of letters"),
  ],
  [
    "a label value that ends with a dash",
    secret({ target: { labels: { team: "a-" } } }),
    rejectedByRule("must consist of"),
  ],
  [
    "a label value of 64 characters",
    secret({ target: { labels: { team: "x".repeat(64) } } }),
    rejectedBySchema("63"),
  ],
  [
    "an annotation with any text",
    secret({ target: { annotations: { note: "any text, also {}\n" } } }),
  ],
  ...["", "a b", "a/b/c", "/a", "a/", "-a", "UPPER.example/a", "x".repeat(64)].map((bad): Case => [
    `the label name ${JSON.stringify(bad).slice(0, 20)}`,
    secret({ target: { labels: { [bad]: "x" } } }),
    rejectedByRule("the names must consist of letters"),
  ]),
  ...[
    "app.kubernetes.io/managed-by",
    "kubernetes.io/x",
    "node.k8s.io/x",
    "vaultsync.dev/content",
    "argocd.argoproj.io/instance",
    "meta.helm.sh/release-name",
    "kustomize.toolkit.fluxcd.io/name",
    "helm.toolkit.fluxcd.io/name",
    "cert-manager.io/issuer",
  ].flatMap((bad): Case[] => [
    [
      `the label ${bad}`,
      secret({ target: { labels: { [bad]: "x" } } }),
      rejectedByRule("must not have names of these domains"),
    ],
    [
      `the annotation ${bad}`,
      secret({ target: { annotations: { [bad]: "x" } } }),
      rejectedByRule("must not have names of these domains"),
    ],
  ]),
];

/** Returns the cases of rules for the keys of a template. */
export function keyContractCases(withTarget: (target: object) => object): readonly Case[] {
  const template = { data: { url: "{{ password }}" } };
  const other = rejectedByRule("validate must name keys of template.data");
  const validate = { url: { format: "URL" } };
  return [
    ["rules for a key of a template", withTarget({ template, validate })],
    ["rules for a key without a template", withTarget({ validate }), other],
    [
      "rules for a key that the template lacks",
      withTarget({ template, validate: { ...validate, host: { notEmpty: true } } }),
      other,
    ],
    [
      "no rules for keys",
      withTarget({ template, validate: {} }),
      rejectedByRule("at least one entry"),
    ],
    [
      "a key without rules",
      withTarget({ template, validate: { url: {} } }),
      rejectedByRule("at least one rule"),
    ],
  ];
}

/** Returns the cases of rules for a value. */
export function contractCases(withRules: (validate: unknown) => object): readonly Case[] {
  const validFor = "must be a number of minutes, hours or days";
  const all = {
    notEmpty: true,
    minLength: 1,
    maxLength: 1,
    pattern: "^[A-Z]{20}$",
    format: "PEM",
    certificate: { validFor: "7d", dnsName: "shop.example.com" },
  };
  return [
    ["all rules for a value", withRules(all)],
    ["a certificate without further rules", withRules({ certificate: {} })],
    ...["1m", "36h", "99999d"].map((good): Case => [
      `a certificate that is valid for ${good}`,
      withRules({ certificate: { validFor: good } }),
    ]),
    ...["0d", "7", "1w", "1h30m"].map((bad): Case => [
      `a certificate that is valid for ${bad}`,
      withRules({ certificate: { validFor: bad } }),
      rejectedByRule(validFor),
    ]),
    ["rules without one", withRules({}), rejectedByRule("must have at least one rule")],
    [
      "a minLength above maxLength",
      withRules({ minLength: 3, maxLength: 2 }),
      rejectedByRule("minLength must not be greater than maxLength"),
    ],
    ["a minLength of 0", withRules({ minLength: 0 }), rejectedBySchema("1")],
    [
      "a maxLength above the size of a target",
      withRules({ maxLength: 2 ** 20 + 1 }),
      rejectedBySchema("1048576"),
    ],
    ["a format in lower case", withRules({ format: "json" }), rejectedBySchema("JSON")],
    [
      "a host name with a wildcard",
      withRules({ certificate: { dnsName: "*.example.com" } }),
      rejectedByRule("must be one host name in lower case"),
    ],
  ];
}

/** Returns the cases of a window for updates that the API server can check. */
export function windowCases(secret: (window: object) => object): readonly Case[] {
  const daily = { schedule: "0 2 * * *", duration: "2h" };
  const rule = "must be a duration from 1m to 168h";
  return [
    ["a window", secret({ ...daily, timeZone: "Europe/Berlin" })],
    ["a window of a week", secret({ ...daily, duration: "168h" })],
    ["a window without a duration", secret({ schedule: "0 2 * * *" }), rejectedBySchema("string")],
    ...["30s", "169h", "1d"].map((duration): Case => [
      `a window of ${duration}`,
      secret({ ...daily, duration }),
      rejectedByRule(rule),
    ]),
  ];
}
