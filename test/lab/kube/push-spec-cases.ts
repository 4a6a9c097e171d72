import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

const entry = (changes: object = {}, remoteRef: object = {}): object => ({
  secretKey: "password",
  remoteRef: { key: "shop-db", ...remoteRef },
  ...changes,
});
const file = (filename: string, changes: object = {}): object => ({
  secretKey: "tls.crt",
  file: { filename },
  ...changes,
});
const push = (...data: object[]): object => ({
  connectionRef: { name: "vault" },
  secret: { name: "source" },
  data,
});

const one = "exactly one of remoteRef and file is required";
const deleteTime = "must be a number of minutes, hours or days";
const filename = "must be a file name without a directory";

export const pushCases: readonly Case[] = [
  ["a minimal spec", push(entry())],
  [
    "a complete spec",
    {
      ...push(
        entry(
          {
            metadata: { environment_type: "prod", expiration_time: 90, "a b": "c" },
            deleteTime: "30d",
          },
          { owner: "a@example.com" },
        ),
        file("Logo (large).png"),
      ),
      suspend: true,
      refreshInterval: "5s",
      deletionPolicy: "Delete",
    },
  ],
  [
    "a missing spec.data",
    { connectionRef: { name: "vault" }, secret: { name: "a" } },
    rejectedByRule("spec.data must have"),
  ],
  [
    "an empty spec.data",
    push(),
    rejectedByRule("must have at least one entry, for example {secretKey"),
  ],
  [
    "a missing secret",
    { connectionRef: { name: "vault" }, data: [entry()] },
    rejectedBySchema("expected object"),
  ],
  [
    "a secret in another namespace",
    { ...push(entry()), secret: { name: "other/a" } },
    rejectedByRule("must be the name of one"),
  ],
  [
    "an entry with remoteRef and file",
    push({ ...entry(), file: { filename: "a" } }),
    rejectedByRule(one),
  ],
  ["an entry with neither remoteRef nor file", push({ secretKey: "a" }), rejectedByRule(one)],
  ["an invalid key", push(entry({ secretKey: "a/b" })), rejectedByRule("must consist of letters")],
  [
    "a key that is pushed to a secret and to a file",
    push(entry(), file("a", { secretKey: "password" })),
  ],
  ["a secret and a file of one name", push(entry(), file("shop-db"))],
  [
    "the same secret twice",
    push(entry(), entry({ secretKey: "b" })),
    rejectedByRule("two keys are pushed to the same secret"),
  ],
  [
    "the same file twice",
    push(file("a"), file("a", { secretKey: "b" })),
    rejectedByRule("two keys are pushed to the same file"),
  ],
  ["64 entries", push(...Array.from({ length: 64 }, (_, at) => entry({}, { key: `${at}` })))],
  [
    "65 entries",
    push(...Array.from({ length: 65 }, (_, at) => entry({}, { key: `${at}` }))),
    rejectedBySchema("64"),
  ],
  ...["a/b", "a\\b", ".", ".."].map((bad): Case => [
    `the file ${bad}`,
    push(file(bad)),
    rejectedByRule(filename),
  ]),
  [
    "a file name with a line break",
    push(file("a\nb")),
    rejectedByRule("must not contain control characters"),
  ],
  [
    "metadata of a file",
    push(file("a", { metadata: {} })),
    rejectedByRule("allowed only with remoteRef"),
  ],
  [
    "a deleteTime of a file",
    push(file("a", { deleteTime: "1d" })),
    rejectedByRule("allowed only with remoteRef"),
  ],
  ...["90m", "12h", "999999d"].map((good): Case => [
    `a deleteTime of ${good}`,
    push(entry({ deleteTime: good })),
  ]),
  ...["0m", "30", "1.5d", "1h30m", "30d ", "5s", "-1d"].map((bad): Case => [
    `a deleteTime of ${JSON.stringify(bad)}`,
    push(entry({ deleteTime: bad })),
    rejectedByRule(deleteTime),
  ]),
  [
    "an expiration_time as text",
    push(entry({ metadata: { expiration_time: "90" } })),
    rejectedByRule("expiration_time must be"),
  ],
  [
    "a negative expiration_time",
    push(entry({ metadata: { expiration_time: -1 } })),
    rejectedByRule("expiration_time must be"),
  ],
  ["a fraction as metadata", push(entry({ metadata: { a: 1.5 } })), rejectedBySchema("metadata")],
  [
    "33 attributes",
    push(
      entry({
        metadata: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`${at}`, "x"])),
      }),
    ),
    rejectedBySchema("32"),
  ],
  [
    "an unknown deletionPolicy",
    { ...push(entry()), deletionPolicy: "Orphan" },
    rejectedBySchema("deletionPolicy"),
  ],
  [
    "a refreshInterval of 4s",
    { ...push(entry()), refreshInterval: "4s" },
    rejectedByRule("must be a duration of at least"),
  ],
];
