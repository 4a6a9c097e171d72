import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

const connection = (changes: object): object => ({
  url: "https://vault.example.com",
  email: "ops@example.com",
  auth: { passwordSecretRef: { name: "vault-login" } },
  ...changes,
});

const key = "must consist of letters";
const name = "must be the name of one";
const duration = "must be a duration of at least";
const url = "must be the base URL of the vault";
const email = "must be the email address";

/** Valid and invalid specs of VaultConnection. */
export const connectionCases: readonly Case[] = [
  ["a minimal spec", connection({})],
  [
    "a complete spec",
    connection({
      auth: { passwordSecretRef: { name: "vault-login", key: "pass.word" } },
      scope: { cloudType: ["aws"], environmentType: ["prod", "stage"], secretName: ["shop-db"] },
      tokenLifetime: "24h",
      refreshInterval: "5s",
      timeout: "1.5s",
      requestsPerSecond: 1000,
      follow: "Interval",
      trustedOwners: ["dba@example.com"],
      receive: "Anyone",
      caBundleRef: { kind: "ConfigMap", name: "vault-ca", key: "ca.pem" },
    }),
  ],
  ["stored tokens", connection({ auth: { tokenSecretRef: { name: "vault-token" } } })],
  ["a ServiceAccount", connection({ auth: { serviceAccountRef: { name: "vaultsync" } } })],
  [
    "a ServiceAccount with an audience and a scope",
    connection({
      auth: {
        serviceAccountRef: { name: "vaultsync", audience: "https://vault.example.com" },
      },
      scope: { cloudType: ["aws"] },
    }),
  ],
  [
    "a ServiceAccount with an audience of two words",
    connection({ auth: { serviceAccountRef: { name: "vaultsync", audience: "a b" } } }),
    rejectedByRule("must be one word of ASCII characters"),
  ],
  [
    "a ServiceAccount of another namespace",
    connection({ auth: { serviceAccountRef: { name: "kube-system/admin" } } }),
    rejectedByRule("must be the name of one ServiceAccount"),
  ],
  [
    "a password and a ServiceAccount",
    connection({ auth: { passwordSecretRef: { name: "a" }, serviceAccountRef: { name: "b" } } }),
    rejectedByRule(
      "must have exactly one of passwordSecretRef, tokenSecretRef and serviceAccountRef",
    ),
  ],
  [
    "stored tokens and a ServiceAccount",
    connection({ auth: { tokenSecretRef: { name: "a" }, serviceAccountRef: { name: "b" } } }),
    rejectedByRule(
      "must have exactly one of passwordSecretRef, tokenSecretRef and serviceAccountRef",
    ),
  ],
  [
    "no credentials",
    connection({ auth: {} }),
    rejectedByRule(
      "must have exactly one of passwordSecretRef, tokenSecretRef and serviceAccountRef",
    ),
  ],
  [
    "a password and stored tokens",
    connection({ auth: { passwordSecretRef: { name: "a" }, tokenSecretRef: { name: "b" } } }),
    rejectedByRule(
      "must have exactly one of passwordSecretRef, tokenSecretRef and serviceAccountRef",
    ),
  ],
  [
    "a scope of stored tokens",
    connection({
      auth: { tokenSecretRef: { name: "vault-token" } },
      scope: { cloudType: ["aws"] },
    }),
    rejectedByRule("spec.scope excludes tokenSecretRef"),
  ],
  [
    "a scope of the referenced names",
    connection({ scope: { onlyReferenced: true, cloudType: ["aws"] } }),
  ],
  [
    "a scope of names that are not only the referenced ones",
    connection({ scope: { onlyReferenced: false, secretName: ["a"] } }),
  ],
  [
    "a scope of the referenced names and others",
    connection({ scope: { onlyReferenced: true, secretName: ["a"] } }),
    rejectedByRule("must not have both onlyReferenced and secretName"),
  ],
  ["an unknown follow", connection({ follow: "Always" }), rejectedBySchema("Invalid option")],
  ["an unknown receive", connection({ receive: "Everyone" }), rejectedBySchema("Invalid option")],
  ["no trustedOwners", connection({ trustedOwners: [] }), rejectedBySchema(">=1")],
  [
    "a trusted owner without a domain",
    connection({ trustedOwners: ["dba"] }),
    rejectedByRule(email),
  ],
  ["a CA bundle in a Secret", connection({ caBundleRef: { kind: "Secret", name: "vault-ca" } })],
  [
    "a CA bundle of another kind",
    connection({ caBundleRef: { kind: "Pod", name: "ca" } }),
    rejectedBySchema("Invalid option"),
  ],
  [
    "a CA bundle in another namespace",
    connection({ caBundleRef: { kind: "Secret", name: "other/ca" } }),
    rejectedByRule(name),
  ],
  ...[
    "http://127.0.0.1:8080",
    "https://[::1]:8443",
    "https://vault.example.com/base",
    "https://v.example/v1beta",
    "https://v.example/",
  ].map((good): Case => [`the URL ${good}`, connection({ url: good })]),
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
  ].map((bad): Case => [
    `the URL ${JSON.stringify(bad)}`,
    connection({ url: bad }),
    rejectedByRule(url),
  ]),
  ...[
    "ops",
    "@example.com",
    "ops@",
    "a@b@c",
    "ops @example.com",
    "ops@example.com\r\nX: y",
    "öps@example.com",
    "",
  ].map((bad): Case => [
    `the email ${JSON.stringify(bad)}`,
    connection({ email: bad }),
    rejectedByRule(email),
  ]),
  ...["90", "-5s", "5 s", "1d", "", "5s\n", "4.9s", "0s"].map((bad): Case => [
    `a refreshInterval of ${JSON.stringify(bad)}`,
    connection({ refreshInterval: bad }),
    rejectedByRule(duration),
  ]),
  ["a refreshInterval of 5000ms", connection({ refreshInterval: "5000ms" })],
  ["a tokenLifetime of 59m", connection({ tokenLifetime: "59m" }), rejectedByRule(duration)],
  ["a tokenLifetime of 60m", connection({ tokenLifetime: "60m" })],
  [
    "a tokenLifetime of more than 292 years",
    connection({ tokenLifetime: "2562048h" }),
    rejectedBySchema(duration),
  ],
  ["a tokenLifetime of 292 years", connection({ tokenLifetime: "2562047h" })],
  ["a number for timeout", connection({ timeout: 10 }), rejectedBySchema("expected string")],
  ["a requestsPerSecond of 0", connection({ requestsPerSecond: 0 }), rejectedBySchema(">=1")],
  [
    "a requestsPerSecond of 0.5",
    connection({ requestsPerSecond: 0.5 }),
    rejectedBySchema("expected int"),
  ],
  ["an empty scope attribute", connection({ scope: { cloudType: [] } }), rejectedBySchema(">=1")],
  ["missing credentials", connection({ auth: {} }), rejectedByRule("must have exactly one of")],
  [
    "credentials under an invalid key",
    connection({ auth: { passwordSecretRef: { name: "login", key: "a/b" } } }),
    rejectedByRule(key),
  ],
  [
    "credentials in another namespace",
    connection({ auth: { passwordSecretRef: { name: "other/login" } } }),
    rejectedByRule(name),
  ],
];

const granted = (...access: object[]): object => connection({ access });
const matchLabels = { team: "shop" };
const expression = (changes: object): object =>
  granted({
    namespaceSelector: {
      matchExpressions: [{ key: "team", operator: "In", values: ["shop"], ...changes }],
    },
  });
const selector = "must have matchLabels or matchExpressions";
const values = "must have values with In and NotIn";

export const clusterConnectionCases: readonly Case[] = [
  ["a minimal spec", connection({})],
  [
    "a complete access",
    granted(
      {
        namespaceSelector: { matchLabels },
        secrets: ["shop-*", "*", "ä b/*?[x]"],
        files: ["shop/*"],
      },
      { namespaceSelector: { matchLabels: {}, matchExpressions: [] } },
    ),
  ],
  ["an empty access", granted()],
  [
    "an access without a selector",
    granted({ secrets: ["*"] }),
    rejectedBySchema("expected object"),
  ],
  [
    "an empty selector",
    granted({ namespaceSelector: {}, secrets: ["*"] }),
    rejectedByRule(selector),
  ],
  [
    "a selector whose only field is misspelled",
    granted({ namespaceSelector: { matchLables: matchLabels }, secrets: ["*"] }),
    rejectedByRule(selector),
  ],
  [
    "an empty name",
    granted({ namespaceSelector: { matchLabels }, secrets: [""] }),
    rejectedBySchema(">=1"),
  ],
  [
    "a name of 257 characters",
    granted({ namespaceSelector: { matchLabels }, files: ["x".repeat(257)] }),
    rejectedBySchema("256"),
  ],
  ["a requirement", expression({})],
  ["an unknown operator", expression({ operator: "Equals" }), rejectedBySchema("Invalid option")],
  ["In without values", expression({ values: [] }), rejectedByRule(values)],
  [
    "NotIn without values",
    expression({ operator: "NotIn", values: undefined }),
    rejectedByRule(values),
  ],
  ["Exists with values", expression({ operator: "Exists" }), rejectedByRule(values)],
  ["Exists without values", expression({ operator: "Exists", values: [] })],
  [
    "64 entries",
    granted(...Array.from({ length: 64 }, () => ({ namespaceSelector: { matchLabels } }))),
  ],
  [
    "65 entries",
    granted(...Array.from({ length: 65 }, () => ({ namespaceSelector: { matchLabels } }))),
    rejectedBySchema("64"),
  ],
  [
    "a scope of stored tokens",
    connection({
      auth: { tokenSecretRef: { name: "vault-token" } },
      scope: { cloudType: ["aws"] },
    }),
    rejectedByRule("spec.scope excludes tokenSecretRef"),
  ],
  [
    "credentials in another namespace",
    connection({ auth: { passwordSecretRef: { name: "shop/login" } } }),
    rejectedByRule("must be the name of one"),
  ],
];
