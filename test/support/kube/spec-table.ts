import type { z } from "zod";
import { type Kind, vaultConnectionKind, vaultFileKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { connectionSpec } from "../../../src/operator/api/vault-connection.ts";
import { vaultFileSpec } from "../../../src/operator/api/vault-file.ts";
import { vaultSecretSpec } from "../../../src/operator/api/vault-secret.ts";

/** One spec, and whether it is to be refused: by the CRD at the API server, and again by the operator. */
export interface SpecRow {
  readonly what: string;
  readonly kind: Kind;
  readonly spec: unknown;
  /** Words that the operator says of a refused one; with `both` the API server says them too. `undefined`: it is fine. */
  readonly refused: { readonly words: string; readonly both: boolean } | undefined;
}

export const schemaOf = new Map<Kind, z.ZodType>([
  [vaultConnectionKind, connectionSpec],
  [vaultSecretKind, vaultSecretSpec],
  [vaultFileKind, vaultFileSpec],
]);

/** Our own rule refuses it, in the same words on both sides. */
const ruled = (words: string): SpecRow["refused"] => ({ words, both: true });
/** The schema refuses it; each side has words of its own. */
const mistyped = (words: string): SpecRow["refused"] => ({ words, both: false });

const entry = (secretKey: string, remoteRef: object = {}): object => ({ secretKey, remoteRef: { key: "shop-db", ...remoteRef } });
const secret = (changes: object): object => ({ connectionRef: { name: "vault" }, data: [entry("password")], ...changes });
const file = (changes: object): object => ({
  connectionRef: { name: "vault" },
  files: [{ filename: "app.conf" }],
  target: { kind: "ConfigMap" },
  ...changes,
});
const connection = (changes: object): object => ({
  url: "https://vault.example.com",
  email: "ops@example.com",
  auth: { passwordSecretRef: { name: "vault-login" } },
  ...changes,
});

type Case = readonly [what: string, spec: unknown, refused?: SpecRow["refused"]];

const key = "must consist of letters";
const name = "must be the name of one";
const version = "must be latest or a positive integer";
const control = "must not contain control characters";
const duration = "must be a duration of at least";
const url = "must be the base URL of the vault";
const email = "must be the email address";

const secrets: readonly Case[] = [
  ["the least there can be", secret({})],
  [
    "everything there is",
    secret({
      suspend: true,
      data: [entry("a", { version: "latest" }), entry("b", { version: 3, owner: "dba@example.com" })],
      target: { name: "db", type: "kubernetes.io/tls", creationPolicy: "Owner", whenRemoved: "Retain" },
    }),
  ],
  ["no spec.data", { connectionRef: { name: "vault" } }, ruled("spec.data must have at least one entry")],
  ["an empty spec.data", secret({ data: [] }), ruled("must have at least one entry, for example {secretKey")],
  [
    "the same secretKey twice",
    secret({ data: [entry("a"), entry("b"), entry("a")] }),
    mistyped("two entries have the same secretKey"),
  ],
  ["256 entries", secret({ data: Array.from({ length: 256 }, (_, at) => entry(`k${at}`)) })],
  ["257 entries", secret({ data: Array.from({ length: 257 }, (_, at) => entry(`k${at}`)) }), mistyped("256")],
  ["no connection", { data: [entry("a")] }, mistyped("expected object")],
  ["a connection's name in capitals", secret({ connectionRef: { name: "Vault" } }), ruled(name)],
  ["a connection's name that is empty", secret({ connectionRef: { name: "" } }), ruled(name)],
  ["suspend as a text", secret({ suspend: "true" }), mistyped("expected boolean")],
  ["version 0", secret({ data: [entry("a", { version: 0 })] }), mistyped(version)],
  ["version -1", secret({ data: [entry("a", { version: -1 })] }), mistyped(version)],
  ["version 1.5", secret({ data: [entry("a", { version: 1.5 })] }), mistyped(version)],
  ["version 1", secret({ data: [entry("a", { version: 1 })] })],
  ["a version as a text", secret({ data: [entry("a", { version: "3" })] }), mistyped(version)],
  ["another word for latest", secret({ data: [entry("a", { version: "newest" })] }), mistyped(version)],
  ["latest and more", secret({ data: [entry("a", { version: "latest\n" })] }), mistyped(version)],
  ...["tls.crt", ".dockerconfigjson", "__proto__", "constructor", "-", "_", "a..b", "A".repeat(253)].map((good): Case => [
    `the key ${good.slice(0, 20)}`,
    secret({ data: [entry(good)] }),
  ]),
  ...["a/b", "a b", "ä", "a\n", ".", "..", "..data", "...", ""].map((bad): Case => [
    `the key ${JSON.stringify(bad)}`,
    secret({ data: [entry(bad)] }),
    ruled(key),
  ]),
  ["a key of 254 characters", secret({ data: [entry("a".repeat(254))] }), mistyped("253")],
  ["a name in the vault with spaces, slashes and emoji", secret({ data: [entry("a", { key: "shop / db 🔒" })] })],
  ["a name of 256 characters that JavaScript counts twice", secret({ data: [entry("a", { key: "🔒".repeat(256) })] })],
  ["a name of 257 characters", secret({ data: [entry("a", { key: "x".repeat(257) })] }), mistyped("at most 256 characters")],
  ["a name with a line end", secret({ data: [entry("a", { key: "shop\ndb" })] }), ruled(control)],
  ["a name with a C1 control character", secret({ data: [entry("a", { key: "shop\u0085db" })] }), ruled(control)],
  ["a name with a DEL", secret({ data: [entry("a", { key: "shop\u007f" })] }), ruled(control)],
  ["no name", secret({ data: [entry("a", { key: "" })] }), mistyped(">=1")],
  ["an empty owner", secret({ data: [entry("a", { owner: "" })] }), mistyped(">=1")],
  ["a target's name with a slash", secret({ target: { name: "../other" } }), ruled(name)],
  ...[
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
    "vaultsync.dev/credentials",
    "opaque",
    "",
  ].map((type): Case => [
    `a target of the type ${type || "nothing"}`,
    secret({ target: { type } }),
    ruled("must be one of Opaque"),
  ]),
  ["another creationPolicy", secret({ target: { creationPolicy: "Merge" } }), mistyped("Owner")],
  ["another whenRemoved", secret({ target: { whenRemoved: "delete" } }), mistyped("Retain")],
];

const files: readonly Case[] = [
  ["the least there can be", file({})],
  ["a Secret", file({ target: { kind: "Secret", name: "web", whenRemoved: "Retain" } })],
  ["no kind of target", file({ target: { name: "web" } }), mistyped("ConfigMap")],
  ["another kind of target", file({ target: { kind: "Deployment" } }), mistyped("ConfigMap")],
  [
    "no spec.files",
    { connectionRef: { name: "vault" }, target: { kind: "Secret" } },
    ruled("spec.files must have at least one entry"),
  ],
  ["an empty spec.files", file({ files: [] }), ruled("must have at least one entry, for example {filename")],
  ["129 files", file({ files: Array.from({ length: 129 }, (_, at) => ({ filename: `f${at}` })) }), mistyped("128")],
  ["the same file under two keys", file({ files: [{ filename: "a" }, { filename: "a", key: "b" }] })],
  [
    "two files under the same key",
    file({ files: [{ filename: "a" }, { filename: "b", key: "a" }] }),
    ruled("two files have the same key"),
  ],
  ["the same file twice", file({ files: [{ filename: "a" }, { filename: "a" }] }), ruled("two files have the same key")],
  ["a path with a key", file({ files: [{ filename: "shop/app.conf", key: "app.conf", version: 2 }] })],
  ...["shop/app.conf", "..", ".", "..data", "a b", "Größe.txt"].map((bad): Case => [
    `the file ${bad} without a key`,
    file({ files: [{ filename: bad }] }),
    ruled("the filename is not a valid key"),
  ]),
  [
    "a filename of 254 characters without a key",
    file({ files: [{ filename: "a".repeat(254) }] }),
    ruled("the filename is not a valid key"),
  ],
  ["a filename of 256 characters with a key", file({ files: [{ filename: "a".repeat(256), key: "a" }] })],
  ["a file with an illegal key", file({ files: [{ filename: "a", key: "../a" }] }), ruled(key)],
  ["a filename with a NUL", file({ files: [{ filename: "a\0", key: "a" }] }), ruled(control)],
];

const connections: readonly Case[] = [
  ["the least there can be", connection({})],
  [
    "everything there is",
    connection({
      auth: { passwordSecretRef: { name: "vault-login", key: "pass.word" } },
      scope: { cloudType: ["aws"], environmentType: ["prod", "stage"], secretName: ["shop-db"] },
      tokenLifetime: "24h",
      refreshInterval: "5s",
      timeout: "1.5s",
      requestsPerSecond: 1000,
    }),
  ],
  ...[
    "http://127.0.0.1:8080",
    "https://[::1]:8443",
    "https://vault.example.com/base",
    "https://v.example/v1beta",
    "https://v.example/",
  ].map((good): Case => [`the address ${good}`, connection({ url: good })]),
  ...[
    "",
    "vault.example.com",
    "ftp://vault.example.com",
    "HTTPS://vault.example.com",
    " https://vault.example.com",
    "https://vault.example.com ",
    "https:vault.example.com",
    "https:\\\\vault.example.com",
    "https://vault.exam\nple.com",
    "https://vault.exam\tple.com",
    "https://user:pass@vault.example.com",
    "https://@vault.example.com",
    "https://vault.example.com?",
    "https://vault.example.com?a=b",
    "https://vault.example.com/#",
    "https://vault.example.com/v1",
    "https://vault.example.com/base/v1/",
    "https://",
  ].map((bad): Case => [`the address ${JSON.stringify(bad)}`, connection({ url: bad }), ruled(url)]),
  ...["ops", "@example.com", "ops@", "a@b@c", "ops @example.com", "ops@example.com\r\nX: y", "öps@example.com", ""].map(
    (bad): Case => [`the e-mail ${JSON.stringify(bad)}`, connection({ email: bad }), ruled(email)],
  ),
  ...["90", "-5s", "5 s", "1d", "", "5s\n", "4.9s", "0s"].map((bad): Case => [
    `a refreshInterval of ${JSON.stringify(bad)}`,
    connection({ refreshInterval: bad }),
    ruled(duration),
  ]),
  ["a refreshInterval of 5000ms", connection({ refreshInterval: "5000ms" })],
  ["a tokenLifetime of 59m", connection({ tokenLifetime: "59m" }), ruled(duration)],
  ["a tokenLifetime of 60m", connection({ tokenLifetime: "60m" })],
  ["a tokenLifetime of more than 292 years", connection({ tokenLifetime: "2562048h" }), mistyped(duration)],
  ["a tokenLifetime of 292 years", connection({ tokenLifetime: "2562047h" })],
  ["a timeout as a number", connection({ timeout: 10 }), mistyped("expected string")],
  ["no calls at all", connection({ requestsPerSecond: 0 }), mistyped(">=1")],
  ["half a call", connection({ requestsPerSecond: 0.5 }), mistyped("expected int")],
  ["a scope that admits nothing", connection({ scope: { cloudType: [] } }), mistyped(">=1")],
  ["no credentials", connection({ auth: {} }), mistyped("expected object")],
  ["credentials under an illegal key", connection({ auth: { passwordSecretRef: { name: "login", key: "a/b" } } }), ruled(key)],
  ["credentials of another namespace", connection({ auth: { passwordSecretRef: { name: "other/login" } } }), ruled(name)],
];

function rows(kind: Kind, cases: readonly Case[]): SpecRow[] {
  return cases.map(([what, spec, refused]) => ({ what: `${kind.kind}: ${what}`, kind, spec, refused }));
}

export const specTable: readonly SpecRow[] = [
  ...rows(vaultSecretKind, secrets),
  ...rows(vaultFileKind, files),
  ...rows(vaultConnectionKind, connections),
];
