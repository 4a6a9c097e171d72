import type { z } from "zod";
import {
  clusterVaultConnectionKind,
  clusterVaultFileKind,
  clusterVaultSecretKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import {
  clusterConnectionSpec,
  connectionSpec,
} from "../../../src/operator/api/vault-connection.ts";
import { clusterVaultFileSpec, vaultFileSpec } from "../../../src/operator/api/vault-file.ts";
import { vaultPushSpec } from "../../../src/operator/api/vault-push.ts";
import { clusterVaultSecretSpec, vaultSecretSpec } from "../../../src/operator/api/vault-secret.ts";
import { clusterConnectionCases, connectionCases } from "./connection-spec-cases.ts";
import { clusterFileCases, clusterSecretCases } from "./fan-out-spec-cases.ts";
import { pushCases } from "./push-spec-cases.ts";
import { type Case, rejectedByRule, rejectedBySchema, type SpecRow } from "./spec-row.ts";
import {
  contractCases,
  keyContractCases,
  sourceCases,
  windowCases,
  restartCases,
  targetCases,
} from "./sync-spec-cases.ts";

export const schemaOf = new Map<Kind, z.ZodType>([
  [vaultConnectionKind, connectionSpec],
  [clusterVaultConnectionKind, clusterConnectionSpec],
  [vaultSecretKind, vaultSecretSpec],
  [vaultFileKind, vaultFileSpec],
  [clusterVaultSecretKind, clusterVaultSecretSpec],
  [clusterVaultFileKind, clusterVaultFileSpec],
  [vaultPushKind, vaultPushSpec],
]);

const entry = (secretKey: string, remoteRef: object = {}): object => ({
  secretKey,
  remoteRef: { key: "shop-db", ...remoteRef },
});
const secret = (changes: object): object => ({
  connectionRef: { name: "vault" },
  data: [entry("password")],
  ...changes,
});
const file = (changes: object): object => ({
  connectionRef: { name: "vault" },
  files: [{ filename: "app.conf" }],
  target: { kind: "ConfigMap" },
  ...changes,
});

const key = "must consist of letters";
const name = "must be the name of one";
const version = "must be latest, previous or a number of at least 1 without quotes";
const control = "must not contain control characters";

const secrets: readonly Case[] = [
  [
    "a ClusterVaultConnection",
    secret({ connectionRef: { kind: "ClusterVaultConnection", name: "corporate" } }),
  ],
  [
    "a connection of another kind",
    secret({ connectionRef: { kind: "Vault", name: "vault" } }),
    rejectedBySchema("Invalid option"),
  ],
  ["a minimal spec", secret({})],
  [
    "a complete spec",
    secret({
      suspend: true,
      data: [
        entry("a", { version: "latest" }),
        entry("b", { version: 3, owner: "dba@example.com" }),
      ],
      target: {
        name: "db",
        type: "kubernetes.io/tls",
        creationPolicy: "Owner",
        whenRemoved: "Retain",
      },
    }),
  ],
  [
    "a missing spec.data",
    { connectionRef: { name: "vault" } },
    rejectedByRule("spec.data or spec.dataFrom must have at least one entry"),
  ],
  [
    "an empty spec.data",
    secret({ data: [] }),
    rejectedByRule("must have at least one entry, for example {secretKey"),
  ],
  [
    "the same secretKey twice",
    secret({ data: [entry("a"), entry("b"), entry("a")] }),
    rejectedBySchema("two entries have the same secretKey"),
  ],
  ["256 entries", secret({ data: Array.from({ length: 256 }, (_, at) => entry(`k${at}`)) })],
  [
    "257 entries",
    secret({ data: Array.from({ length: 257 }, (_, at) => entry(`k${at}`)) }),
    rejectedBySchema("256"),
  ],
  ["a previous version", secret({ data: [entry("a"), entry("b", { version: "previous" })] })],
  [
    "a previous version next to a pinned one",
    secret({ data: [entry("a", { version: 3 }), entry("b", { version: "previous" })] }),
    rejectedByRule("version: previous needs another entry with the same key and owner"),
  ],
  [
    "a previous version of another secret",
    secret({ data: [entry("a"), entry("b", { version: "previous", key: "other" })] }),
    rejectedByRule("version: previous needs another entry with the same key and owner"),
  ],
  ["a missing connectionRef", { data: [entry("a")] }, rejectedBySchema("expected object")],
  [
    "a connectionRef name in upper case",
    secret({ connectionRef: { name: "Vault" } }),
    rejectedByRule(name),
  ],
  ["an empty connectionRef name", secret({ connectionRef: { name: "" } }), rejectedByRule(name)],
  ["an approval", secret({ updates: { approval: "Required" } })],
  ["no approval", secret({ updates: { approval: "None" } })],
  [
    "an approval in lower case",
    secret({ updates: { approval: "required" } }),
    rejectedBySchema("Required"),
  ],
  ...windowCases((window) => secret({ updates: { windows: [window] } })),
  ["a string for suspend", secret({ suspend: "true" }), rejectedBySchema("expected boolean")],
  ...sourceCases(secret, entry),
  ...contractCases((validate) => secret({ data: [{ ...entry("password"), validate }] })),
  ["version 0", secret({ data: [entry("a", { version: 0 })] }), rejectedBySchema(version)],
  ["version -1", secret({ data: [entry("a", { version: -1 })] }), rejectedBySchema(version)],
  ["version 1.5", secret({ data: [entry("a", { version: 1.5 })] }), rejectedBySchema(version)],
  ["version 1", secret({ data: [entry("a", { version: 1 })] })],
  [
    "a version as a string",
    secret({ data: [entry("a", { version: "3" })] }),
    rejectedBySchema(version),
  ],
  [
    "the version newest",
    secret({ data: [entry("a", { version: "newest" })] }),
    rejectedBySchema(version),
  ],
  [
    "the version latest with a line break",
    secret({ data: [entry("a", { version: "latest\n" })] }),
    rejectedBySchema(version),
  ],
  ...[
    "tls.crt",
    ".dockerconfigjson",
    "__proto__",
    "constructor",
    "-",
    "_",
    "a..b",
    "A".repeat(253),
  ].map((good): Case => [`the key ${good.slice(0, 20)}`, secret({ data: [entry(good)] })]),
  ...["a/b", "a b", "ä", "a\n", ".", "..", "..data", "...", ""].map((bad): Case => [
    `the key ${JSON.stringify(bad)}`,
    secret({ data: [entry(bad)] }),
    rejectedByRule(key),
  ]),
  ["a key of 254 characters", secret({ data: [entry("a".repeat(254))] }), rejectedBySchema("253")],
  [
    "a vault name with spaces, slashes and emoji",
    secret({ data: [entry("a", { key: "shop / db 🔒" })] }),
  ],
  [
    "a vault name of 256 characters outside the BMP",
    secret({ data: [entry("a", { key: "🔒".repeat(256) })] }),
  ],
  [
    "a vault name of 257 characters",
    secret({ data: [entry("a", { key: "x".repeat(257) })] }),
    rejectedBySchema("at most 256 characters"),
  ],
  [
    "a vault name with a line break",
    secret({ data: [entry("a", { key: "shop\ndb" })] }),
    rejectedByRule(control),
  ],
  [
    "a vault name with a C1 control character",
    secret({ data: [entry("a", { key: "shop\u0085db" })] }),
    rejectedByRule(control),
  ],
  [
    "a vault name with DEL",
    secret({ data: [entry("a", { key: "shop\u007f" })] }),
    rejectedByRule(control),
  ],
  ["an empty vault name", secret({ data: [entry("a", { key: "" })] }), rejectedBySchema(">=1")],
  ["an empty owner", secret({ data: [entry("a", { owner: "" })] }), rejectedBySchema(">=1")],
  ["a target name with a slash", secret({ target: { name: "../other" } }), rejectedByRule(name)],
  ...[
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
    "vaultsync.dev/credentials",
    "helm.sh/x",
    "a b",
    "",
  ].map((type): Case => [
    `the target type ${JSON.stringify(type)}`,
    secret({ target: { type } }),
    rejectedByRule("must be the type of a Secret"),
  ]),
  [
    "an unknown creationPolicy",
    secret({ target: { creationPolicy: "None" } }),
    rejectedBySchema("Owner"),
  ],
  ...targetCases(secret),
  ...keyContractCases((target) => secret({ target })),
  ...restartCases(secret),
  [
    "an unknown whenRemoved",
    secret({ target: { whenRemoved: "delete" } }),
    rejectedBySchema("Retain"),
  ],
];

const files: readonly Case[] = [
  ["a minimal spec", file({})],
  ["a target with Merge", file({ target: { kind: "Secret", creationPolicy: "Merge" } })],
  [
    "a target with Merge and labels",
    file({ target: { kind: "Secret", creationPolicy: "Merge", labels: {} } }),
    rejectedByRule("with creationPolicy Merge, which only adds keys"),
  ],
  ["a Secret as target", file({ target: { kind: "Secret", name: "web", whenRemoved: "Retain" } })],
  ["a missing target kind", file({ target: { name: "web" } }), rejectedBySchema("ConfigMap")],
  [
    "an unknown target kind",
    file({ target: { kind: "Deployment" } }),
    rejectedBySchema("ConfigMap"),
  ],
  [
    "a missing spec.files",
    { connectionRef: { name: "vault" }, target: { kind: "Secret" } },
    rejectedByRule("spec.files or spec.filesFrom must have at least one entry"),
  ],
  [
    "an empty spec.files",
    file({ files: [] }),
    rejectedByRule("must have at least one entry, for example {filename"),
  ],
  ...keyContractCases((target) => file({ target: { kind: "Secret", ...target } })),
  ...contractCases((validate) => file({ files: [{ filename: "app.conf", validate }] })),
  [
    "129 files",
    file({ files: Array.from({ length: 129 }, (_, at) => ({ filename: `f${at}` })) }),
    rejectedBySchema("128"),
  ],
  [
    "the same file under two keys",
    file({ files: [{ filename: "a" }, { filename: "a", key: "b" }] }),
  ],
  [
    "two files under the same key",
    file({ files: [{ filename: "a" }, { filename: "b", key: "a" }] }),
    rejectedByRule("two files have the same key"),
  ],
  [
    "the same file twice",
    file({ files: [{ filename: "a" }, { filename: "a" }] }),
    rejectedByRule("two files have the same key"),
  ],
  [
    "a filename with a slash and a key",
    file({ files: [{ filename: "shop/app.conf", key: "app.conf", version: 2 }] }),
  ],
  ...["shop/app.conf", "..", ".", "..data", "a b", "Größe.txt"].map((bad): Case => [
    `the file ${bad} without a key`,
    file({ files: [{ filename: bad }] }),
    rejectedByRule("the filename is not a valid key"),
  ]),
  [
    "a filename of 254 characters without a key",
    file({ files: [{ filename: "a".repeat(254) }] }),
    rejectedByRule("the filename is not a valid key"),
  ],
  [
    "a filename of 256 characters with a key",
    file({ files: [{ filename: "a".repeat(256), key: "a" }] }),
  ],
  [
    "a file with an invalid key",
    file({ files: [{ filename: "a", key: "../a" }] }),
    rejectedByRule(key),
  ],
  [
    "a filename with a NUL",
    file({ files: [{ filename: "a\0", key: "a" }] }),
    rejectedByRule(control),
  ],
];

function rows(kind: Kind, cases: readonly Case[]): SpecRow[] {
  return cases.map(([what, spec, rejected]) => {
    const verb = rejected === undefined ? "accepts" : "rejects";
    return { what: `${kind.kind} ${verb} ${what}`, kind, spec, rejected };
  });
}

export const specTable: readonly SpecRow[] = [
  ...rows(vaultSecretKind, secrets),
  ...rows(vaultFileKind, files),
  ...rows(clusterVaultSecretKind, clusterSecretCases),
  ...rows(clusterVaultFileKind, clusterFileCases),
  ...rows(vaultPushKind, pushCases),
  ...rows(vaultConnectionKind, connectionCases),
  ...rows(clusterVaultConnectionKind, clusterConnectionCases),
];
