import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

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
