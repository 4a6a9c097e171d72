import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

const labels = { team: "shop", "example.com/tier": "" };
const entries = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`name-${at}`, "x"]));

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
