import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

const connection = (changes: object): object => ({
  url: "https://vault.example.com",
  email: "ops@example.com",
  auth: { passwordSecretRef: { name: "vault-login" } },
  ...changes,
});
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
    rejectedByRule("spec.scope requires passwordSecretRef"),
  ],
  [
    "credentials in another namespace",
    connection({ auth: { passwordSecretRef: { name: "shop/login" } } }),
    rejectedByRule("must be the name of one"),
  ],
];
