import { expect, test } from "vitest";
import { CONSUMER } from "../../lab/vault/secret-record.ts";
import { failureOf } from "../../lab/assertions/failure-of.ts";
import { pump, VirtualClock } from "../../lab/clock/virtual-clock.ts";
import {
  errorResponse,
  json,
  listedSecret,
  listResponse,
  listSoon,
  nextList,
  raw,
  recordOf,
  type Script,
  ScriptedVault,
  textOf,
  valueResponse,
} from "../../lab/vault/scripted-vault.ts";
import { referencesTo } from "../../lab/vault/vault-connection.ts";
import { ResponseMemory } from "../../../src/operator/vault-client/http/response-memory.ts";
import type { OperatorFlags } from "../../../src/operator/config.ts";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

/**
 * A vault whose version operations do not return the latest version, and whose `expose` does not
 * name it.
 */
async function unlabeled(...listed: number[]): Promise<ScriptedVault> {
  return (await ScriptedVault.start())
    .on(
      "list_no_dup",
      ...listed.map((version) => listResponse(listedSecret("a", version, { shared: false }))),
    )
    .on("version_expose", errorResponse(400, "invalid_request"))
    .on("expose", valueResponse("canary"));
}

test("a value without a version counts only if a later list still shows its version", async () => {
  const vault = await unlabeled(6, 7);
  const observed = await vault.connected();
  const read = textOf(observed, "a");
  expect(await failureOf(pump(observed.clock, read))).toMatchObject({
    kind: "unexpected-response",
    field: "key_version",
  });
  // The list was requested after the value.
  expect(vault.server.requests.map(({ path }) => path.split("/").at(-1)).slice(-2)).toEqual([
    "expose",
    "list_no_dup",
  ]);
  expect(vault.count("list_no_dup")).toBe(2);
});

const createdIn = (month: string, more: object = {}) =>
  listedSecret("a", 6, { shared: false, created_at: `2026-${month}-01T00:00:00Z`, ...more });

test.each([
  ["the entry with another creation time", [createdIn("02")]],
  ["no entry", []],
  ["an entry of another owner", [createdIn("01", { owner: "bob@example.com" })]],
])("a value without a version does not count if a later list shows %s", async (_, secrets) => {
  const vault = (await unlabeled()).on(
    "list_no_dup",
    listResponse(createdIn("01")),
    listResponse(...secrets),
  );
  const observed = await vault.connected();
  expect(await failureOf(pump(observed.clock, textOf(observed, "a")))).toMatchObject({
    kind: "unexpected-response",
    field: "key_version",
  });
});

test("a value without a version is not cached", async () => {
  const vault = await unlabeled(6);
  const observed = await vault.connected();
  for (let time = 1; time <= 2; time += 1) {
    expect(await pump(observed.clock, textOf(observed, "a"))).toEqual(["canary", 6]);
    expect(vault.count("expose")).toEqual(time);
    expect(vault.count("list_no_dup")).toEqual(time + 1);
  }
});

test("values without a version that are read together share the list after them", async () => {
  const names = ["a", "b", "c", "d"];
  const vault = (await unlabeled(1)).on(
    "list_no_dup",
    listResponse(...names.map((name) => listedSecret(name, 1, { shared: false }))),
  );
  const observed = await vault.connected({ references: referencesTo(names) });
  await pump(observed.clock, Promise.all(names.map((name) => textOf(observed, name))));
  expect(vault.count("list_no_dup")).toBe(2);
});

test("the failure of the list after a value without a version is the failure of the value", async () => {
  const vault = (await unlabeled(6)).on(
    "list_no_dup",
    listResponse(listedSecret("a", 6, { shared: false })),
    raw("", 503),
  );
  const observed = await vault.connected();
  const failure = await failureOf(pump(observed.clock, textOf(observed, "a")));
  expect(failure).toMatchObject({ operation: "list_no_dup", status: 503 });
});

test("an entry that the vault cannot read is requested with backoff by all callers together", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on("version_expose", raw("", 500));
  const observed = await vault.connected();
  const requests: number[] = [];
  for (let second = 0; second < 32; second += 1) {
    for (let caller = 0; caller < 10; caller += 1) {
      expect(await failureOf(textOf(observed, "a"))).toMatchObject({
        code: "server_error",
        status: 500,
      });
    }
    requests.push(vault.count("version_expose"));
    await observed.clock.advance(1_000);
  }
  // After 0.75 s, 1.5 s, 3 s, 6 s, 12 s.
  expect([requests[0], requests[1], requests[3], requests[6], requests[12], requests[31]]).toEqual([
    1, 2, 3, 4, 5, 6,
  ]);
});

test("an entry that the vault rejects is requested again when its name changes in the list", async () => {
  const vault = (await ScriptedVault.start())
    .on(
      "list_no_dup",
      listResponse(listedSecret("a", 2)),
      listResponse(listedSecret("a", 2)),
      listResponse(listedSecret("a", 3)),
    )
    .on("version_expose", errorResponse(404, "version_not_found"));
  const observed = await vault.connected();
  const read = (): Promise<unknown> => failureOf(textOf(observed, "a", 1));
  for (let second = 0; second < 30; second += 1) {
    expect(await read()).toMatchObject({ kind: "permanent", code: "version_not_found" });
    await observed.clock.advance(1_000);
  }
  expect(vault.count("version_expose")).toBe(1);
  await nextList(observed, 30_000);
  await nextList(observed, 60_000);
  vault.on("version_expose", json({ key_value: "canary", key_version: 1 }));
  expect(await textOf(observed, "a", 1)).toEqual(["canary", 1]);
});

test("a 401 for one value neither pauses logins nor renews the token repeatedly", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on("version_expose", errorResponse(401, "invalid_token"))
    .on("expose", errorResponse(401, "invalid_token"));
  const observed = await vault.connected();
  for (let attempt = 0; attempt < 10; attempt += 1) {
    expect(await failureOf(textOf(observed, "a"))).toMatchObject({ kind: "auth", code: "token" });
  }
  expect(vault.count("refresh_token")).toBe(1);
  expect(vault.count("generate_access_token")).toBe(1);
  expect(observed.connection.loginPause).toBeUndefined();
  await listSoon(observed);
  expect(observed.connection.health.state).toBe("healthy");
  await observed.clock.advance(60_000);
  await failureOf(textOf(observed, "a"));
  expect(vault.count("refresh_token")).toBe(2);
});

test("a vault whose list rejects fresh tokens is asked once per pause", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    errorResponse(401, "invalid_token"),
  );
  const observed = vault.connect();
  await expect
    .poll(() => observed.connection.health)
    .toMatchObject({ state: "failing", error: { code: "token" } });
  expect(observed.connection.loginPause).toMatchObject({
    until: observed.clock.now() + 60_000,
    credentials: "canary-password",
  });
  observed.connection.pollSoon();
  await observed.clock.advance(30_000);
  expect(vault.count("generate_access_token")).toBe(1);
});

const KIB = 1024;
const { signal } = new AbortController();

/** Announces a value of 64 KiB, and sends all of it but the last byte. */
const unfinished: Script = (response) =>
  void response.writeHead(200, { "content-length": 64 * KIB }).write(" ".repeat(64 * KIB - 1));

test("values that never end take the memory of their tenant only, and for 30 s at most", async () => {
  const names = ["a", "b", "c", "d"];
  const stranger = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(...names.map((name) => listedSecret(name))))
    .on("version_expose", unfinished)
    .on("expose", unfinished);
  const shop = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on("version_expose", valueResponse("v1", { key_version: 1 }))
    .on("expose", valueResponse("v1", { key_version: 1 }));
  const clock = new VirtualClock();
  const common = {
    clock,
    valueMemory: new ResponseMemory(64 * KIB, 256 * KIB),
    timeoutMs: 3_600_000,
  };
  const hostile = await stranger.connected({
    ...common,
    tenant: "stranger/",
    references: referencesTo(names),
  });
  const ended: unknown[] = [];
  for (const name of names)
    void failureOf(hostile.connection.reader(recordOf(hostile, name), CONSUMER)(1, signal)).then(
      (e) => ended.push(e),
    );
  await expect.poll(() => stranger.count("version_expose") + stranger.count("expose")).toBe(4);
  const honest = await shop.connected({ ...common, tenant: "shop/" });
  const { bytes } = await honest.connection.reader(recordOf(honest, "a"), CONSUMER)(1, signal);
  expect(Buffer.from(bytes.reveal()).toString()).toBe("v1");
  // One of them has the memory. All further ones wait for it in turn.
  for (let count = 1; count <= 2; count += 1) {
    await clock.advance(30_001);
    await expect.poll(() => ended.length).toBe(count);
  }
  expect(ended[0]).toMatchObject({ kind: "transient", code: "timeout" });
});

test("a file is not read beyond its listed size", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_file", json({ files: [{ filename: "f", version: 1, size: 10 }] }))
    .on("download_file", (response) => {
      response.writeHead(200);
      const more = (error?: Error | null): void =>
        void (error || response.write("x".repeat(KIB), more));
      more();
    });
  const { connection } = await vault.connected({ references: referencesTo([], ["f"]) });
  await expect.poll(() => connection.snapshot?.file("f")).toBeDefined();
  const record = connection.snapshot?.file("f");
  if (record === undefined) throw new Error("not listed");
  const failure = { kind: "transient", code: "size_mismatch" };
  expect(await failureOf(connection.reader(record, CONSUMER)(1, signal))).toMatchObject(failure);
});

const READS = /^(?:version_)?expose|^download_file$/u;

/** Starts an operator, and returns the consumers that reads of values and other requests report. */
async function started(flags: OperatorFlags = {}, spec: object = { reportUse: true }) {
  const scene = new SimulatedWorld({ apiLatencyMs: 0, settleMs: 30_000 });
  const read: string[] = [];
  const others = new Set<string>();
  scene.vault().latencyMs = 0;
  scene.vault().network = {
    send: ({ operation, body, consumer }) => {
      if (!READS.test(operation)) others.add(consumer ?? "none");
      else read.push(`${nameIn(body)} for ${consumer ?? "none"}`);
      return Promise.resolve(undefined);
    },
  };
  scene.pushes.connected("shop");
  scene.connect("vault", { refreshInterval: "10s", ...spec });
  scene.start(flags);
  await scene.settle();
  return { scene, others, take: () => read.splice(0) };
}

function nameIn(body: object): string {
  const { key_name, filename } = body as { key_name?: string; filename?: string };
  return key_name ?? filename ?? "";
}

test("a read of a value reports the VaultSecret or VaultFile that it is for", async () => {
  const { scene, others, take } = await started();
  await using _ = scene;
  scene.vault().write("a");
  scene.vault().upload(ACCOUNT, "conf", Buffer.from("conf"));
  scene.follow({ password: "a" }, { name: "shop-db" });
  scene.followFiles({ namespace: "shop", name: "app" }, { namespace: "shop", name: "vault" }, [
    "conf",
  ]);
  await scene.settle();
  expect(take().sort()).toEqual([
    "a for kubernetes/shop/VaultSecret/shop-db",
    "conf for kubernetes/shop/VaultFile/app",
  ]);
  expect([...others]).toEqual(["none"]);
});

test("a VaultPush is reported when it compares what the vault has", async () => {
  const { scene, others, take } = await started({ clusterName: "prod.eu-1" });
  await using _ = scene;
  scene.pushes.source({ password: "one" });
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  expect(new Set(take())).toEqual(new Set(["db for prod.eu-1/shop/VaultPush/push"]));
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(new Set(take())).toEqual(new Set(["db for prod.eu-1/shop/VaultPush/push"]));
  expect([...others]).toEqual(["none"]);
});

test("a value from the cache reports no resource", async () => {
  const { scene, take } = await started();
  await using _ = scene;
  scene.vault().write("a");
  scene.follow({ password: "a" }, { name: "one" });
  await scene.settle();
  scene.follow({ password: "a" }, { name: "two" });
  await scene.settle();
  expect(take()).toEqual(["a for kubernetes/shop/VaultSecret/one"]);
});

test.each([{}, { reportUse: false }])("no resource is reported with %o", async (spec) => {
  const { scene, take } = await started({ clusterName: "prod" }, spec);
  await using _ = scene;
  scene.vault().write("a");
  scene.follow({ password: "a" });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle();
  expect(new Set(take())).toEqual(new Set(["a for none", "db for none"]));
});

test("reads report their resource from the change of the field on, until the next one", async () => {
  const { scene, take } = await started({}, {});
  await using _ = scene;
  scene.vault().write("a");
  scene.follow({ password: "a" });
  await scene.settle();
  scene.connect("vault", { refreshInterval: "10s", reportUse: true });
  await scene.settle();
  scene.vault().write("a");
  await scene.settle();
  scene.connect("vault", { refreshInterval: "10s" });
  await scene.settle();
  scene.vault().write("a");
  await scene.settle();
  expect(take()).toEqual(["a for none", "a for kubernetes/shop/VaultSecret/db", "a for none"]);
});
