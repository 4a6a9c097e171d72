import { expect, onTestFinished, test } from "vitest";
import { CONSUMER } from "../../../../test/lab/vault/secret-record.ts";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import {
  json,
  errorResponse,
  ScriptedServer,
  type Script,
} from "../../../../test/lab/vault/scripted-vault.ts";
import {
  observeConnection,
  untilHealthy,
  type ObservedConnection,
} from "../../../../test/lab/vault/vault-connection.ts";
import { operationPath, type Operation } from "../../../protocol/operation-paths.ts";
import { ValueCache } from "./value-cache.ts";

const signal = new AbortController().signal;
const own = { owner: "ANN@example.com" };
const foreign = { owner: "bob@example.com" };

type Responses = Partial<Record<Operation, Script>>;

/** Connects without a cache to a vault with this list and these responses. */
async function open(
  secrets: readonly object[],
  responses: Responses,
): Promise<[ObservedConnection, ScriptedServer]> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(operationPath.generate_access_token, json({ access_token: "T", expires_in: 86_400 }));
  server.on(
    operationPath.list_no_dup,
    json({ secrets: secrets.map((more) => ({ key_name: "a", key_version: 2, ...more })) }),
  );
  for (const operation of [
    "expose",
    "expose_link",
    "version_expose",
    "version_expose_link",
  ] as const) {
    server.on(operationPath[operation], responses[operation] ?? errorResponse(404, "not_found"));
  }
  return [
    await untilHealthy(observeConnection({ url: server.url, valueCache: new ValueCache(0) })),
    server,
  ];
}

/** Reads one version of a record. Returns the operations that were sent, in order. */
async function route(
  [{ connection }, server]: [ObservedConnection, ScriptedServer],
  version = 2,
  at = 0,
): Promise<string[]> {
  const record = connection.snapshot?.secrets("a")[at];
  if (!record) throw new Error("not listed");
  const before = server.requests.length;
  await connection.reader(record, CONSUMER)(version, signal);
  return server.requests.slice(before).map(({ path, body }) => {
    const more = Object.keys(body).filter((name) => name !== "email" && name !== "key_name");
    return [path.split("/").at(-1), ...more].join(" ");
  });
}

const value = json({ key_value: "canary", key_version: 2 });
const useLink = errorResponse(409, "use_link_operation");
const useOwn = errorResponse(409, "use_unshared_operation");
const ambiguous: Script = (response, request) =>
  (request.body.owner ? value : errorResponse(409, "ambiguous_name"))(response, request);
const onlyOlder: Script = (response, request) =>
  (request.body.key_version === 1
    ? json({ key_value: "old", key_version: 1 })
    : errorResponse(400, "invalid_request"))(response, request);

test.each<[string, object, Responses, string[], string[]]>([
  [
    "an own secret by the list",
    { shared: false },
    { version_expose: value },
    ["version_expose key_version"],
    ["version_expose key_version"],
  ],
  [
    "a shared secret by the list",
    { shared: true },
    { version_expose_link: value },
    ["version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  [
    "a secret of another owner",
    foreign,
    { version_expose_link: value },
    ["version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  [
    "a secret of the own account",
    own,
    { version_expose: value },
    ["version_expose key_version"],
    ["version_expose key_version"],
  ],
  [
    "a secret shared after the list",
    { shared: false },
    { version_expose: useLink, version_expose_link: value },
    ["version_expose key_version", "version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  [
    "a secret unshared after the list",
    { shared: true, ...own },
    { version_expose_link: useOwn, version_expose: value },
    ["version_expose_link key_version", "version_expose key_version"],
    ["version_expose key_version"],
  ],
  [
    "a sparse list with a link operation",
    {},
    { version_expose: errorResponse(404, "secret_not_found"), version_expose_link: value },
    ["version_expose key_version", "version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  [
    "version operations without the latest",
    { shared: false },
    { version_expose: errorResponse(400, "invalid_request"), expose: value },
    ["version_expose key_version", "expose"],
    ["expose"],
  ],
  [
    "a sparse list with the plain link operation only",
    {},
    { expose_link: value },
    ["version_expose key_version", "expose", "version_expose_link key_version", "expose_link"],
    ["expose_link"],
  ],
])(
  "%s: finds a route and uses it immediately the next time",
  async (_, record, responses, first, second) => {
    const vault = await open([record], responses);
    expect(await route(vault)).toEqual(first);
    expect(await route(vault)).toEqual(second);
  },
);

test("sends the owner when several creators share one name", async () => {
  const vault = await open(
    [
      { ...foreign, shared: true },
      { owner: "carl@example.com", shared: true },
    ],
    { version_expose_link: value },
  );
  expect(await route(vault, 2, 1)).toEqual(["version_expose_link key_version owner"]);
  expect(vault[1].requests.at(-1)?.body).toMatchObject({ owner: "carl@example.com" });
});

test("sends the owner of an ambiguous name from then on", async () => {
  const vault = await open([{ ...foreign, shared: true }], { version_expose_link: ambiguous });
  expect(await route(vault)).toEqual([
    "version_expose_link key_version",
    "version_expose_link key_version owner",
  ]);
  expect(await route(vault)).toEqual(["version_expose_link key_version owner"]);
});

test("does not use the route to the latest version for an older one", async () => {
  const vault = await open([{ shared: false }], { version_expose: onlyOlder, expose: value });
  await route(vault);
  expect(await route(vault, 1)).toEqual(["version_expose key_version"]);
});

test.each<[string, object, Responses, object, number]>([
  [
    "a removed version",
    { shared: false },
    { version_expose: errorResponse(404, "version_not_found") },
    { code: "version_not_found" },
    1,
  ],
  [
    "a secret out of scope",
    {},
    { version_expose: errorResponse(403, "out_of_scope") },
    { code: "out_of_scope" },
    1,
  ],
  [
    "a transient failure",
    {},
    { version_expose: errorResponse(500, "internal") },
    { kind: "transient" },
    1,
  ],
  [
    "two families that refer to each other",
    {},
    { version_expose: useLink, version_expose_link: useOwn },
    { code: "use_link_operation" },
    2,
  ],
  [
    "an ambiguous name of unknown owner",
    { shared: true },
    { version_expose_link: errorResponse(409, "ambiguous_name") },
    { code: "ambiguous_name" },
    1,
  ],
  ["no working route", {}, {}, { operation: "version_expose", code: "not_found" }, 4],
])("%s: fails with the first error", async (_, record, responses, failure, requests) => {
  const vault = await open([record], responses);
  const before = vault[1].requests.length;
  expect(await failureOf(route(vault))).toMatchObject(failure);
  expect(vault[1].requests.length - before).toBe(requests);
});
