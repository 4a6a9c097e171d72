import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { json, refuse, ScriptedServer, type Script } from "../../../../test/support/vault/scripted-server.ts";
import { observeConnection, untilHealthy, type ObservedConnection } from "../../../../test/support/vault/vault-connection.ts";
import { operationPath, type Operation } from "../../../protocol/operation-paths.ts";
import { ValueCache } from "./value-cache.ts";

const signal = new AbortController().signal;
const own = { owner: "ANN@example.com" };
const foreign = { owner: "bob@example.com" };

type Answers = Partial<Record<Operation, Script>>;

/** A vault that lists these, without a cache on our side, and answers so. */
async function open(secrets: readonly object[], answers: Answers): Promise<[ObservedConnection, ScriptedServer]> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(operationPath.generate_access_token, json({ access_token: "T", expires_in: 86_400 }));
  server.on(operationPath.list_no_dup, json({ secrets: secrets.map((more) => ({ key_name: "a", key_version: 2, ...more })) }));
  for (const operation of ["expose", "expose_link", "version_expose", "version_expose_link"] as const) {
    server.on(operationPath[operation], answers[operation] ?? refuse(404, "not_found"));
  }
  return [await untilHealthy(observeConnection({ url: server.url, valueCache: new ValueCache(0) })), server];
}

/** Reads one version of the first record; answers the operations it took, in order. */
async function route([{ connection }, server]: [ObservedConnection, ScriptedServer], version = 2, at = 0): Promise<string[]> {
  const record = connection.snapshot?.secrets("a")[at];
  if (!record) throw new Error("not listed");
  const before = server.calls.length;
  await connection.secretValue(record, version, signal);
  return server.calls.slice(before).map(({ path, body }) => {
    const more = Object.keys(body).filter((name) => name !== "email" && name !== "key_name");
    return [path.split("/").at(-1), ...more].join(" ");
  });
}

const value = json({ key_value: "canary", key_version: 2 });
const useLink = refuse(409, "use_link_operation");
const useOwn = refuse(409, "use_unshared_operation");
const ambiguous: Script = (response, call) => (call.body.owner ? value : refuse(409, "ambiguous_name"))(response, call);
const onlyOlder: Script = (response, call) =>
  (call.body.key_version === 1 ? json({ key_value: "old", key_version: 1 }) : refuse(400, "invalid_request"))(response, call);

test.each<[string, object, Answers, string[], string[]]>([
  [
    "the list says own",
    { shared: false },
    { version_expose: value },
    ["version_expose key_version"],
    ["version_expose key_version"],
  ],
  [
    "the list says shared",
    { shared: true },
    { version_expose_link: value },
    ["version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  [
    "another owner",
    foreign,
    { version_expose_link: value },
    ["version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  ["the owner is oneself", own, { version_expose: value }, ["version_expose key_version"], ["version_expose key_version"]],
  [
    "shared since the list",
    { shared: false },
    { version_expose: useLink, version_expose_link: value },
    ["version_expose key_version", "version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  [
    "unshared since the list",
    { shared: true, ...own },
    { version_expose_link: useOwn, version_expose: value },
    ["version_expose_link key_version", "version_expose key_version"],
    ["version_expose key_version"],
  ],
  [
    "a sparse list, and only the link operation serves it",
    {},
    { version_expose: refuse(404, "secret_not_found"), version_expose_link: value },
    ["version_expose key_version", "version_expose_link key_version"],
    ["version_expose_link key_version"],
  ],
  [
    "version operations that do not serve the latest",
    { shared: false },
    { version_expose: refuse(400, "invalid_request"), expose: value },
    ["version_expose key_version", "expose"],
    ["expose"],
  ],
  [
    "neither known, and only the plain link operation is there",
    {},
    { expose_link: value },
    ["version_expose key_version", "expose", "version_expose_link key_version", "expose_link"],
    ["expose_link"],
  ],
])("%s: finds the way, and takes it at once the next time", async (_, record, answers, first, second) => {
  const vault = await open([record], answers);
  expect(await route(vault)).toEqual(first);
  expect(await route(vault)).toEqual(second);
});

test("several creators share one name: the owner is told", async () => {
  const vault = await open(
    [
      { ...foreign, shared: true },
      { owner: "carl@example.com", shared: true },
    ],
    { version_expose_link: value },
  );
  expect(await route(vault, 2, 1)).toEqual(["version_expose_link key_version owner"]);
  expect(vault[1].calls.at(-1)?.body).toMatchObject({ owner: "carl@example.com" });
});

test("a name found ambiguous is asked for with its owner from then on", async () => {
  const vault = await open([{ ...foreign, shared: true }], { version_expose_link: ambiguous });
  expect(await route(vault)).toEqual(["version_expose_link key_version", "version_expose_link key_version owner"]);
  expect(await route(vault)).toEqual(["version_expose_link key_version owner"]);
});

test("the way to the latest version is not taken for an older one", async () => {
  const vault = await open([{ shared: false }], { version_expose: onlyOlder, expose: value });
  await route(vault);
  expect(await route(vault, 1)).toEqual(["version_expose key_version"]);
});

test.each<[string, object, Answers, object, number]>([
  [
    "the version is gone",
    { shared: false },
    { version_expose: refuse(404, "version_not_found") },
    { code: "version_not_found" },
    1,
  ],
  ["out of scope", {}, { version_expose: refuse(403, "out_of_scope") }, { code: "out_of_scope" }, 1],
  ["a failure says nothing about the way", {}, { version_expose: refuse(500, "internal") }, { kind: "transient" }, 1],
  [
    "the two families point at each other",
    {},
    { version_expose: useLink, version_expose_link: useOwn },
    { code: "use_link_operation" },
    2,
  ],
  [
    "ambiguous and the owner unknown",
    { shared: true },
    { version_expose_link: refuse(409, "ambiguous_name") },
    { code: "ambiguous_name" },
    1,
  ],
  ["no way at all", {}, {}, { operation: "version_expose", code: "not_found" }, 4],
])("%s: the first refusal is the answer", async (_, record, answers, failure, calls) => {
  const vault = await open([record], answers);
  const before = vault[1].calls.length;
  expect(await failureOf(route(vault))).toMatchObject(failure);
  expect(vault[1].calls.length - before).toBe(calls);
});
