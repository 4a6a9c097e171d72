/** The entries of the vault, and the shapes of ExternalSecrets that are handed over. */

interface Target {
  readonly name?: string;
  readonly [field: string]: unknown;
}

/** An ExternalSecret, and the keys that its Secret has. */
export interface Given {
  readonly name: string;
  readonly keys: readonly string[];
  readonly spec: { readonly target?: Target; readonly [field: string]: unknown };
  readonly labels?: Readonly<Record<string, string>>;
  /** It has something that a VaultSecret cannot express. */
  readonly isIncomplete?: true;
  /** Both operators read the same bytes. */
  readonly isUnchanged?: true;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Returns the entries as one of the two operators reads them: each value names its owner. */
const entriesOf = (owner: string) =>
  [
    ["plain", `${owner}-plain`],
    ["other", `${owner}-other`],
    ["encoded", base64(`${owner}-decoded`)],
    ["json", JSON.stringify({ username: `${owner}-user`, nested: { password: `${owner}-pass` } })],
    ["flat", JSON.stringify({ HOST: `${owner}-host`, PORT: `${owner}-port` })],
    ["registry", JSON.stringify({ auths: { "registry.example.com": { auth: `${owner}-auth` } } })],
    ["same", "former-vault-same"],
    ["env.one", `${owner}-one`],
    ["env.two", `${owner}-two`],
  ].map(([key = "", value = ""]) => ({ key, value }));

/** The entries of the vault. */
export const VAULTED = entriesOf("vault");
/** The entries of the former operator's provider, with one version of `plain` by number. */
export const FORMER = [
  ...entriesOf("former"),
  { key: "plain", version: "1", value: "former-plain" },
];

const data = (secretKey: string, key: string, more: object = {}) => ({
  secretKey,
  remoteRef: { key, ...more },
});
const password = [data("password", "plain")];
const login = [data("username", "other"), data("password", "plain")];

export const GIVEN: readonly Given[] = [
  { name: "plain", keys: ["password"], spec: { data: password } },
  { name: "two-keys", keys: ["password", "username"], spec: { data: login } },
  {
    name: "property",
    keys: ["user", "pass"],
    spec: {
      data: [
        data("user", "json", { property: "username" }),
        data("pass", "json", { property: "nested.password" }),
      ],
    },
  },
  { name: "pinned", keys: ["old"], spec: { data: [data("old", "plain", { version: "1" })] } },
  {
    name: "decoded",
    keys: ["text"],
    spec: { data: [data("text", "encoded", { decodingStrategy: "Base64" })] },
  },
  { name: "extract", keys: ["HOST", "PORT"], spec: { dataFrom: [{ extract: { key: "flat" } }] } },
  {
    name: "find",
    keys: ["env.one", "env.two"],
    spec: { dataFrom: [{ find: { name: { regexp: String.raw`^env\.` } } }] },
  },
  {
    name: "rewrite",
    keys: ["one", "two"],
    spec: {
      dataFrom: [
        {
          find: { name: { regexp: String.raw`^env\.` } },
          rewrite: [{ regexp: { source: String.raw`^env\.(.*)$`, target: "$1" } }],
        },
      ],
    },
  },
  {
    name: "extract-and-data",
    keys: ["HOST", "PORT", "password"],
    spec: { data: password, dataFrom: [{ extract: { key: "flat" } }] },
  },
  {
    name: "template",
    keys: ["url"],
    spec: {
      data: login,
      target: {
        template: { data: { url: "db://{{ .username }}:{{ .password | toString }}@db" } },
      },
    },
  },
  {
    name: "basic-auth",
    keys: ["username", "password"],
    spec: { data: login, target: { template: { type: "kubernetes.io/basic-auth" } } },
  },
  {
    name: "registry",
    keys: [".dockerconfigjson"],
    spec: {
      data: [data(".dockerconfigjson", "registry")],
      target: { template: { type: "kubernetes.io/dockerconfigjson" } },
    },
  },
  {
    name: "labeled",
    keys: ["password"],
    labels: { team: "shop" },
    spec: {
      data: password,
      target: {
        template: { metadata: { labels: { tier: "data" }, annotations: { "example.com/a": "b" } } },
      },
    },
  },
  { name: "renamed", keys: ["password"], spec: { data: password, target: { name: "elsewhere" } } },
  {
    name: "orphan",
    keys: ["password"],
    spec: { data: password, target: { creationPolicy: "Orphan" } },
  },
  {
    name: "merge",
    keys: ["password"],
    spec: { data: password, target: { name: "shared", creationPolicy: "Merge" } },
  },
  {
    name: "merge-deleting",
    keys: ["user"],
    spec: {
      data: [data("user", "other")],
      target: { name: "shared", creationPolicy: "Merge", deletionPolicy: "Delete" },
    },
  },
  {
    name: "immutable",
    keys: ["same"],
    isUnchanged: true,
    spec: { data: [data("same", "same")], target: { immutable: true } },
  },
  {
    name: "deleting",
    keys: ["password"],
    spec: { data: password, target: { deletionPolicy: "Delete" } },
  },
  {
    name: "minutes",
    keys: ["password"],
    spec: { data: password, refreshInterval: "1m" },
  },
  {
    name: "once",
    keys: ["password"],
    isIncomplete: true,
    spec: { data: password, refreshPolicy: "CreatedOnce", target: { deletionPolicy: "Delete" } },
  },
  {
    name: "ranged",
    keys: ["all"],
    isIncomplete: true,
    spec: {
      data: login,
      target: { template: { data: { all: "{{ range $k, $v := . }}{{ $v }},{{ end }}" } } },
    },
  },
];
