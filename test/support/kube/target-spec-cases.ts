import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

const labels = { team: "shop", "example.com/tier": "" };
const entries = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [`name-${at}`, "x"]));

/** Returns specs with policies of the target; `secret` returns the spec of a VaultSecret with changes. */
export const targetCases = (secret: (changes: object) => object): readonly Case[] => [
  ["every policy of a target", secret({ target: { creationPolicy: "Orphan", immutable: true, labels, annotations: labels } })],
  ["a target with Merge", secret({ target: { name: "app", creationPolicy: "Merge", whenRemoved: "Retain" } })],
  ...[{ type: "Opaque" }, { labels: {} }, { annotations: {} }, { immutable: false }].map((bad): Case => [
    `a target with Merge and ${Object.keys(bad).join()}`,
    secret({ target: { creationPolicy: "Merge", ...bad } }),
    rejectedByRule("with creationPolicy Merge, which only adds keys"),
  ]),
  ["16 labels", secret({ target: { labels: entries(16) } })],
  ["17 labels", secret({ target: { labels: entries(17) } }), rejectedBySchema("at most 16 entries")],
  ["a label value with a space", secret({ target: { labels: { team: "a b" } } }), rejectedByRule("must consist of letters")],
  ["a label value that ends with a dash", secret({ target: { labels: { team: "a-" } } }), rejectedByRule("must consist of")],
  ["a label value of 64 characters", secret({ target: { labels: { team: "x".repeat(64) } } }), rejectedBySchema("63")],
  ["an annotation with any text", secret({ target: { annotations: { note: "any text, also {}\n" } } })],
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
    [`the label ${bad}`, secret({ target: { labels: { [bad]: "x" } } }), rejectedByRule("must not have names of these domains")],
    [
      `the annotation ${bad}`,
      secret({ target: { annotations: { [bad]: "x" } } }),
      rejectedByRule("must not have names of these domains"),
    ],
  ]),
];
