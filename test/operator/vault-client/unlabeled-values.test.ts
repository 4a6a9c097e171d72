import { expect, test } from "vitest";
import { failureOf } from "../../lab/assertions/failure-of.ts";
import { pump } from "../../lab/clock/pump.ts";
import {
  listedSecret,
  listResponse,
  nextList,
  ScriptedVault,
  textOf,
  valueResponse,
  errorResponse,
  json,
  raw,
} from "../../lab/vault/scripted-vault.ts";
import { referencesTo } from "../../lab/vault/vault-connection.ts";

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
