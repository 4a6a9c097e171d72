import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";
import { keyContractCases } from "./sync-spec-cases.ts";

const connectionRef = { kind: "ClusterVaultConnection", name: "corporate" };
const matchLabels = { team: "shop" };
const selection = "spec.namespaces or spec.namespaceSelector must select namespaces";

/** Returns the cases of what both kinds with targets in several namespaces have. */
function fanOutCases(valid: (changes: object) => object, target: object): readonly Case[] {
  const selecting = (changes: object): object => valid({ namespaces: undefined, ...changes });
  const withTarget = (changes: object): object => valid({ target: { ...target, ...changes } });
  return [
    ["a minimal spec", valid({})],
    ["a selector of namespaces", selecting({ namespaceSelector: { matchLabels } })],
    ["names and a selector of namespaces", valid({ namespaceSelector: { matchLabels } })],
    ["every namespace", selecting({ namespaceSelector: { matchLabels: {} } })],
    ["no selection of namespaces", selecting({}), rejectedByRule(selection)],
    [
      "a misspelled selection of namespaces",
      selecting({ namespaceSelectors: { matchLabels } }),
      rejectedByRule(selection),
    ],
    [
      "an empty selector of namespaces",
      selecting({ namespaceSelector: {} }),
      rejectedByRule("must have matchLabels or matchExpressions"),
    ],
    ["an empty list of namespaces", valid({ namespaces: [] }), rejectedBySchema(">=1")],
    ["a null in place of namespaces", valid({ namespaces: [null] }), rejectedBySchema("string")],
    ["256 namespaces", valid({ namespaces: Array.from({ length: 256 }, (_, at) => `n${at}`) })],
    [
      "257 namespaces",
      valid({ namespaces: Array.from({ length: 257 }, (_, at) => `n${at}`) }),
      rejectedBySchema("256"),
    ],
    ...["Shop", "shop-*", "shop/web", ""].map((bad): Case => [
      `the namespace ${JSON.stringify(bad)}`,
      valid({ namespaces: [bad] }),
      rejectedByRule("must be the name of one Namespace"),
    ]),
    [
      "a VaultConnection",
      valid({ connectionRef: { kind: "VaultConnection", name: "vault" } }),
      rejectedBySchema('expected "ClusterVaultConnection"'),
    ],
    [
      "a connection without a kind",
      valid({ connectionRef: { name: "corporate" } }),
      rejectedBySchema('expected "ClusterVaultConnection"'),
    ],
    ["a missing connectionRef", valid({ connectionRef: undefined }), rejectedBySchema("object")],
    ["a target with Owner", withTarget({ creationPolicy: "Owner" })],
    [
      "a target with Orphan, labels and policies",
      withTarget({
        name: "other",
        creationPolicy: "Orphan",
        labels: matchLabels,
        annotations: { note: "x" },
        immutable: true,
        whenRemoved: "Retain",
        whenMissing: "Delete",
      }),
    ],
    ["a target with Merge", withTarget({ creationPolicy: "Merge" }), rejectedBySchema("Orphan")],
    [
      "a target with a label of Kubernetes",
      withTarget({ labels: { "app.kubernetes.io/managed-by": "x" } }),
      rejectedByRule("must not have names of these domains"),
    ],
    ...keyContractCases(withTarget),
    [
      "updates, intervals and suspend",
      valid({
        refreshInterval: "5m",
        expiryNotice: "14d",
        suspend: true,
        updates: {
          approval: "Required",
          windows: [{ schedule: "0 2 * * *", duration: "2h", timeZone: "Europe/Berlin" }],
        },
      }),
    ],
    [
      "a rolloutRestart that it drops",
      valid({ rolloutRestart: [{ kind: "Deployment", name: "web" }] }),
    ],
  ];
}

const secret = (changes: object): object => ({
  connectionRef,
  namespaces: ["shop"],
  data: [{ secretKey: "password", remoteRef: { key: "shop-db" } }],
  ...changes,
});

export const clusterSecretCases: readonly Case[] = [
  ...fanOutCases(secret, {}),
  [
    "an extract and a find",
    secret({
      data: undefined,
      dataFrom: [{ extract: { key: "shop-env" } }, { find: { name: { regexp: "^shop-" } } }],
    }),
  ],
  [
    "a missing spec.data",
    secret({ data: undefined }),
    rejectedByRule("spec.data or spec.dataFrom must have at least one entry"),
  ],
  [
    "the same secretKey twice",
    secret({
      data: ["a", "b"].map((key) => ({ secretKey: "password", remoteRef: { key } })),
    }),
    rejectedBySchema("two entries have the same secretKey"),
  ],
  ["a type of Secret", secret({ target: { type: "kubernetes.io/dockerconfigjson" } })],
  [
    "the type of credentials",
    secret({ target: { type: "vaultsync.dev/credentials" } }),
    rejectedByRule("must be the type of a Secret"),
  ],
];

const file = (changes: object): object => ({
  connectionRef,
  namespaces: ["shop"],
  files: [{ filename: "app.conf" }],
  target: { kind: "ConfigMap" },
  ...changes,
});

export const clusterFileCases: readonly Case[] = [
  ...fanOutCases(file, { kind: "Secret" }),
  [
    "a rule for files",
    file({ files: undefined, filesFrom: [{ find: { filename: { regexp: "^ca-" } } }] }),
  ],
  [
    "a missing spec.files",
    file({ files: undefined }),
    rejectedByRule("spec.files or spec.filesFrom must have at least one entry"),
  ],
  [
    "two files under the same key",
    file({ files: [{ filename: "a" }, { filename: "b", key: "a" }] }),
    rejectedByRule("two files have the same key"),
  ],
  ["a missing target", file({ target: undefined }), rejectedBySchema("expected object")],
  ["a missing target kind", file({ target: { name: "web" } }), rejectedBySchema("ConfigMap")],
];
