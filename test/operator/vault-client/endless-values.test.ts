import { expect, test } from "vitest";
import {
  listedSecret,
  listResponse,
  recordOf,
  ScriptedVault,
  valueResponse,
  type Script,
  json,
} from "../../lab/vault/scripted-vault.ts";
import { failureOf } from "../../lab/assertions/failure-of.ts";
import { referencesTo } from "../../lab/vault/vault-connection.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ResponseMemory } from "../../../src/operator/vault-client/http/response-memory.ts";

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
    void failureOf(hostile.connection.reader(recordOf(hostile, name))(1, signal)).then((e) =>
      ended.push(e),
    );
  await expect.poll(() => stranger.count("version_expose") + stranger.count("expose")).toBe(4);
  const honest = await shop.connected({ ...common, tenant: "shop/" });
  const { bytes } = await honest.connection.reader(recordOf(honest, "a"))(1, signal);
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
  expect(await failureOf(connection.reader(record)(1, signal))).toMatchObject(failure);
});
