import { inspect } from "node:util";
import { expect, test } from "vitest";
import { failureOf } from "../../../test/lab/assertions/failure-of.ts";
import {
  listedSecret,
  listResponse,
  listSoon,
  nextList,
  recordOf,
  requestsEnded,
  ScriptedVault,
  textOf,
  tokenResponse,
  valueResponse,
  errorResponse,
  json,
  raw,
  reset,
  silence,
  type Script,
} from "../../../test/lab/vault/scripted-vault.ts";
import { passwordSource, referencesTo } from "../../../test/lab/vault/vault-connection.ts";
import { ValueCache } from "./values/value-cache.ts";
import { operationPath } from "../../protocol/operation-paths.ts";

/** Responds with the script to one token and with 401 to any other. */
const onlyFor =
  (good: string, script: Script): Script =>
  (response, request) =>
    (request.headers.authorization === good ? script : errorResponse(401, "invalid_token"))(
      response,
      request,
    );

test("logs in, lists and reports all names of the first list", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(
      listedSecret("a", 3, { owner: "ann@example.com", shared: false }),
      listedSecret("b"),
    ),
  );
  const observed = await vault.connected();
  expect(vault.bodies("generate_access_token")).toEqual([
    {
      email: "ann@example.com",
      password: "canary-password",
      scope: "cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*",
      expiration_hours: 24,
    },
  ]);
  expect(
    vault.server
      .to(operationPath.list_no_dup)
      .map(({ headers, body }) => [headers.authorization, body]),
  ).toEqual([["T1", { email: "ann@example.com" }]]);
  expect(observed.changes).toEqual([{ secrets: ["a", "b"], files: [] }]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy"]);
  expect(observed.connection.snapshot).toMatchObject({ secretCount: 2, fileCount: undefined });
  expect(recordOf(observed, "a")).toMatchObject({
    version: 3,
    owner: "ann@example.com",
    shared: false,
  });
  const now = observed.clock.now();
  expect(observed.connection.token).toMatchObject({
    refreshedAt: now,
    expiresAt: now + 86_400_000,
    scope: {
      text: "cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*",
    },
  });
});

test("an unchanged vault receives one list request per interval and no other", async () => {
  const vault = (await ScriptedVault.start()).on("list_no_dup", listResponse(listedSecret("a")));
  const observed = await vault.connected();
  for (let interval = 0; interval < 5; interval += 1) await nextList(observed, 60_000);
  expect(observed.requests).toEqual([
    "generate_access_token ok",
    ...Array.from({ length: 6 }, () => "list_no_dup ok"),
  ]);
  expect(observed.changes).toHaveLength(1);
  expect(observed.connection.snapshot?.progress("secret")?.lists).toBe(6);
});

test("a list of unchanged content is revalidated by its entity tag", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    json({ secrets: [listedSecret("a")] }, 200, { etag: '"canary"' }),
    raw("", 304),
    raw("", 304),
    listResponse(listedSecret("a", 2)),
  );
  const observed = await vault.connected({ references: referencesTo(["a"]) });
  for (let interval = 0; interval < 3; interval += 1) await nextList(observed, 60_000);
  const conditions = vault.server
    .to(operationPath.list_no_dup)
    .map(({ headers }) => headers["if-none-match"]);
  expect(conditions).toEqual([undefined, '"canary"', '"canary"', '"canary"']);
  expect(observed.requests.slice(1)).toEqual([
    "list_no_dup ok",
    "list_no_dup unchanged",
    "list_no_dup unchanged",
    "list_no_dup ok",
  ]);
  expect(observed.connection.snapshot?.progress("secret")?.lists).toBe(4);
  expect(observed.changes.map(({ secrets }) => secrets)).toEqual([["a"], ["a"]]);
});

test("pollSoon lists a second after the last list, and reports only the names that differ", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(listedSecret("same"), listedSecret("newer"), listedSecret("gone")),
    listResponse(listedSecret("same"), listedSecret("newer", 2), listedSecret("new")),
  );
  const observed = await vault.connected({
    references: referencesTo(["same", "newer", "gone", "new"]),
  });
  await listSoon(observed);
  await expect.poll(() => observed.changes).toHaveLength(2);
  expect(observed.changes[1]).toEqual({ secrets: ["gone", "new", "newer"], files: [] });
});

test("calls of pollSoon share one list, at most one per second", async () => {
  const vault = await ScriptedVault.start();
  const observed = await vault.connected();
  for (let call = 0; call < 20; call += 1) {
    observed.connection.pollSoon();
    await observed.clock.advance(100);
  }
  await requestsEnded(observed, "list_no_dup", 3);
  await observed.clock.advance(50_000);
  expect(vault.count("list_no_dup")).toBe(3);
});

test.each<[string, Script]>([
  ["a login page", raw("<html>canary</html>", 200, { "content-type": "text/html" })],
  ["an empty body", raw("")],
  ["null", raw("null")],
  ["an empty array", raw("[]")],
  ["an empty object", raw("{}")],
  ["an empty list under another name", json({ message: "ok", data: [] })],
  ["an empty object under its name", json({ secrets: {} })],
  ["a string", raw('"canary"')],
  ["a list of another type", json({ secrets: "canary" })],
  ["a record without a version", json({ secrets: [listedSecret("a"), { key_name: "canary" }] })],
  [
    "a version that is not a number",
    json({ secrets: [{ key_name: "canary", key_version: "NaN" }] }),
  ],
  ["deep nesting", raw("[".repeat(100_000))],
  ["broken UTF-8", raw(Buffer.from([0x7b, 0xff, 0x7d]))],
  ["an error with status 200", json({ error: "canary", data: [] })],
  ["a proxy's 404", raw("<html>canary</html>", 404)],
  ["a redirect", raw("", 302, { location: "http://127.0.0.1/canary" })],
  ["an authorization error", errorResponse(403, "forbidden")],
  ["an unknown path", errorResponse(404, "not_found")],
  ["a server error", raw("canary", 500)],
  ["a connection reset", reset],
])("%s instead of a list keeps the previous snapshot", async (_, script) => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(listedSecret("a")),
    script,
  );
  const observed = await vault.connected();
  const { snapshot } = observed.connection;
  await listSoon(observed);
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  expect(observed.connection.snapshot).toBe(snapshot);
  expect(observed.changes).toHaveLength(1);
  expect(inspect(observed.connection.health, { depth: 9 })).not.toContain("canary");
});

test("a 401 refreshes the token once for all requests and repeats them", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(listedSecret("a"), listedSecret("b")),
  );
  const observed = await vault
    .on("version_expose", onlyFor("T2", valueResponse("canary")))
    .connected();
  expect(await Promise.all([textOf(observed, "a"), textOf(observed, "b")])).toEqual([
    ["canary", 1],
    ["canary", 1],
  ]);
  expect(vault.bodies("refresh_token")).toEqual([
    { refresh_token: "T1-refresh", used_access_token: "T1" },
  ]);
  expect(vault.count("generate_access_token")).toBe(1);
  expect(vault.count("version_expose")).toBe(4);
});

test("transient failures open the circuit breaker, and a successful probe closes it", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a"), listedSecret("b")))
    .on("version_expose", valueResponse("kept"));
  const observed = await vault.connected();
  await textOf(observed, "a");
  vault.on("list_no_dup", raw("", 503));
  await listSoon(observed);
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  while (!observed.breakerChanges.includes(true))
    await nextList(observed, observed.clock.nextIn ?? 0);
  expect(vault.count("list_no_dup")).toBe(6);
  // While it is open no request is sent, and cached values are still served.
  expect(await failureOf(textOf(observed, "b"))).toMatchObject({
    kind: "transient",
    code: "circuit_open",
  });
  expect(await textOf(observed, "a")).toEqual(["kept", 1]);
  expect(vault.count("version_expose")).toBe(1);
  const lists = observed.connection.snapshot?.progress("secret")?.lists;
  observed.connection.pollSoon();
  await observed.clock.advance(0);
  expect(vault.count("list_no_dup")).toBe(6);
  expect(observed.connection.snapshot?.progress("secret")?.lists).toEqual(lists);
  expect(observed.connection.health.error).toMatchObject({ code: "server_error", status: 503 });
  vault.on("list_no_dup", listResponse(listedSecret("a"), listedSecret("b")));
  while (observed.connection.health.state === "failing")
    await nextList(observed, observed.clock.nextIn ?? 0);
  expect(observed.breakerChanges).toEqual([true, false]);
  expect(await textOf(observed, "b")).toEqual(["kept", 1]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy", "failing", "healthy"]);
});

test("five unreadable secrets cost neither the lists nor the other secrets anything", async () => {
  const names = ["bad-1", "bad-2", "bad-3", "bad-4", "bad-5"];
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(...[...names, "good"].map((name) => listedSecret(name))))
    .on("version_expose", (response, request) =>
      (request.body.key_name === "good" ? valueResponse("canary") : raw("", 500))(
        response,
        request,
      ),
    );
  const observed = await vault.connected({
    references: referencesTo([...names, "good"]),
    valueCache: new ValueCache(0),
  });
  for (let minute = 0; minute < 15; minute += 1) {
    for (const name of names)
      expect(await failureOf(textOf(observed, name))).toMatchObject({ kind: "transient" });
    expect(await textOf(observed, "good")).toEqual(["canary", 1]);
    await nextList(observed, 60_000);
  }
  expect(vault.count("list_no_dup")).toBe(16);
  expect(observed.breakerChanges).toEqual([]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy"]);
});

test("after a 429 no request is sent before its retry-after", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a"), listedSecret("b")))
    .on(
      "version_expose",
      errorResponse(429, "rate_limited", { "retry-after": "30" }),
      valueResponse("canary"),
    );
  const observed = await vault.connected();
  expect(await failureOf(textOf(observed, "a"))).toMatchObject({
    kind: "rate-limited",
    retryAfterMs: 30_000,
  });
  await observed.clock.advance(10_000);
  expect(await failureOf(textOf(observed, "b"))).toMatchObject({
    kind: "rate-limited",
    retryAfterMs: 20_000,
  });
  expect(vault.count("version_expose")).toBe(1);
  await observed.clock.advance(20_000);
  expect(await textOf(observed, "b")).toEqual(["canary", 1]);
});

test("a failing list is retried after 1 s, 2 s, 4 s, … the interval with jitter", async () => {
  const vault = (await ScriptedVault.start()).on("list_no_dup", raw("<html>"));
  const observed = vault.connect();
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 11; poll += 1) {
    await observed.clock.advance(0);
    waits.push(observed.clock.nextIn);
    await nextList(observed, observed.clock.nextIn ?? 0);
  }
  expect(waits).toEqual([
    750, 1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000, 60_000, 60_000,
  ]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["failing"]);
});

test("a rejected login is retried after 1, 5, 15, 60 minutes or new credentials", async () => {
  const vault = (await ScriptedVault.start()).on(
    "generate_access_token",
    errorResponse(401, "invalid_credentials"),
  );
  let password = "canary-old";
  const observed = vault.connect({ credentials: passwordSource(() => password) });
  const waits: (number | undefined)[] = [];
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await requestsEnded(observed, "generate_access_token", attempt);
    await expect.poll(() => observed.clock.pending).toBe(1);
    waits.push(observed.clock.nextIn);
    await observed.clock.advance(observed.clock.nextIn ?? 0);
  }
  expect(waits.map((wait) => (wait ?? 0) / 60_000)).toEqual([1, 5, 15, 60, 60]);
  expect(observed.connection.health.error).toMatchObject({ kind: "auth", code: "credentials" });
  await requestsEnded(observed, "generate_access_token", 6);
  await expect.poll(() => observed.clock.pending).toBe(1);
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  expect(vault.count("generate_access_token")).toBe(6);
  vault.on("generate_access_token", tokenResponse("T9"));
  password = "canary-new";
  observed.connection.credentialsChanged();
  await expect.poll(() => observed.connection.health.state).toBe("healthy");
});

test("disposing aborts requests in flight and leaves no timer", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")), silence)
    .on("version_expose", silence);
  const observed = await vault.connected();
  const failure = failureOf(textOf(observed, "a"));
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  await expect.poll(() => vault.server.requests).toHaveLength(4);
  await observed.connection[Symbol.asyncDispose]();
  expect(await failure).toMatchObject({ name: "AbortError" });
  expect(observed.clock.pending).toBe(0);
  expect(observed.connection.health.state).toBe("healthy");
  await expect(textOf(observed, "a")).rejects.toMatchObject({ name: "AbortError" });
});

test("an error of the credential source becomes the health, and no login is sent", async () => {
  const vault = await ScriptedVault.start();
  const missing = new Error("no such Secret");
  const observed = vault.connect({
    credentials: { kind: "password", read: () => Promise.reject(missing) },
  });
  await expect
    .poll(() => observed.connection.health)
    .toMatchObject({
      state: "failing",
      error: { kind: "transient", code: "credentials_not_read" },
    });
  expect(vault.server.requests).toEqual([]);
});
