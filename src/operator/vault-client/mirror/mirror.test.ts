import { expect, test } from "vitest";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { referencesTo, untilHealthy } from "../../../../test/lab/vault/vault-connection.ts";
import {
  errorResponse,
  listedSecret,
  listResponse,
  nextList,
  recordOf,
  requestsEnded,
  ScriptedVault,
  json,
  raw,
} from "../../../../test/lab/vault/scripted-vault.ts";
import { ListGate } from "../http/list-gate.ts";

test("the removal of a secret at its delete time is listed immediately", async () => {
  const vault = await ScriptedVault.start();
  const clockStart = Date.UTC(2026, 10, 21);
  vault.on(
    "list_no_dup",
    listResponse(listedSecret("a", 1, { delete_at: clockStart + 10_000 }), listedSecret("b")),
    listResponse(listedSecret("b")),
  );
  const observed = await vault.connected();
  await observed.clock.advance(10_019);
  expect(vault.count("list_no_dup")).toBe(1);
  await nextList(observed, 1);
  expect(observed.changes[1]).toEqual({ secrets: ["a"], files: [] });
});

test("a secret listed after its delete time is listed again with backoff", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(listedSecret("a", 1, { delete_at: Date.UTC(2026, 10, 20) })),
  );
  const observed = await vault.connected();
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 8; poll += 1) {
    const wait = observed.clock.nextIn ?? 0;
    waits.push(wait);
    await nextList(observed, wait);
  }
  expect(waits).toEqual([6_000, 6_000, 6_000, 6_000, 12_000, 24_000, 45_000, 45_000]);
});

test("the backoff for removals restarts with the next overdue secret", async () => {
  const late = { delete_at: Date.UTC(2026, 10, 20) };
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    ...Array.from({ length: 6 }, () => listResponse(listedSecret("a", 1, late))),
    listResponse(),
    listResponse(listedSecret("b", 1, late)),
  );
  const observed = await vault.connected();
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 8; poll += 1) {
    waits.push(observed.clock.nextIn);
    await nextList(observed, observed.clock.nextIn ?? 0);
  }
  expect(waits).toEqual([6_000, 6_000, 6_000, 6_000, 12_000, 24_000, 60_000, 6_000]);
});

test("files are listed only while one is referenced", async () => {
  const file = { filename: "f.bin", version: 1, size: 3 };
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on("list_file", json({ files: [file] }));
  const observed = await vault.connected();
  expect(vault.count("list_file")).toBe(0);
  observed.connection.setReferences(referencesTo([], ["f.bin"]));
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  expect(observed.changes[1]).toEqual({ secrets: [], files: ["f.bin"] });
  observed.connection.setReferences(referencesTo(["a"]));
  expect(observed.connection.snapshot?.fileCount).toBeUndefined();
  await nextList(observed, 60_000);
  expect(vault.count("list_file")).toBe(1);
  expect(observed.connection.snapshot?.fileCount).toBeUndefined();
});

test("a referenced name that the last list does not cover is listed once, without a condition", async () => {
  const secrets = { secrets: [listedSecret("a"), listedSecret("c")] };
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    json(secrets, 200, { etag: '"1"' }),
  );
  const observed = await vault.connected({ references: referencesTo(["a"]) });
  const { connection } = observed;
  expect(connection.snapshot?.covers("secret", "a")).toBe(true);
  expect(connection.snapshot?.covers("secret", "c")).toBe(false);
  expect(connection.snapshot?.secretCount).toBe(2);
  expect(connection.snapshot?.secrets("c")).toEqual([]);
  for (const names of [
    ["a", "c"],
    ["a", "c", "d"],
    ["a", "d"],
  ])
    connection.setReferences(referencesTo(names));
  await nextList(observed, 1_000);
  expect(
    vault.server.to(operationPath.list_no_dup).map(({ headers }) => headers["if-none-match"]),
  ).toEqual([undefined, undefined]);
  expect(connection.snapshot?.covers("secret", "d")).toBe(true);
  expect(connection.snapshot?.secrets("d")).toEqual([]);
  // The resource that waits for the name is notified, although the name does not exist.
  expect(observed.changes).toEqual([
    { secrets: ["a"], files: [] },
    { secrets: ["d"], files: [] },
  ]);
  connection.setReferences(referencesTo(["a"]));
  await observed.clock.advance(58_000);
  expect(vault.count("list_no_dup")).toBe(2);
});

test("names that are referenced before the first response need no second list", async () => {
  const vault = (await ScriptedVault.start()).on("list_no_dup", listResponse(listedSecret("late")));
  const observed = vault.connect({ references: referencesTo([]) });
  observed.connection.setReferences(referencesTo(["late"]));
  await requestsEnded(observed, "list_no_dup", 1);
  await observed.clock.advance(59_000);
  expect(vault.count("list_no_dup")).toBe(1);
  expect(recordOf(observed, "late").version).toBe(1);
});

test("held requests that end early without a change of a referenced name do not follow closely", async () => {
  const held = { "preference-applied": "wait" };
  let version = 0;
  const vault = (await ScriptedVault.start()).on("list_no_dup", (response, request) => {
    version += 1;
    const secrets = [listedSecret("a"), listedSecret("unreferenced", version)];
    json({ secrets }, 200, { ...held, etag: `"${version}"` })(response, request);
  });
  const observed = await vault.connected({ follow: "Auto", references: referencesTo(["a"]) });
  for (let second = 0; second < 120; second += 1) {
    await observed.clock.advance(1_000);
    await requestsEnded(observed, "list_no_dup", vault.count("list_no_dup"));
  }
  expect(vault.count("list_no_dup")).toBeLessThanOrEqual(8);
});

test("the first list of each kind, and the login for it, come before all later lists", async () => {
  const clock = new VirtualClock();
  const turns: string[] = [];
  class RecordingGate extends ListGate {
    override enter(...[turn, signal]: Parameters<ListGate["enter"]>): Promise<void> {
      turns.push(turn);
      return super.enter(turn, signal);
    }
  }
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    errorResponse(503, "server_error"),
    listResponse(listedSecret("a")),
  );
  const observed = vault.connect({ clock, listGate: new RecordingGate(clock) });
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  expect(turns.splice(0)).toEqual(["first", "first"]);
  await nextList(observed, 2_000);
  await untilHealthy(observed);
  expect(turns.splice(0)).toEqual(["later"]);
  observed.connection.setReferences(referencesTo(["a"], ["f.bin"]));
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(0);
  expect(turns.splice(0)).toEqual(["first"]);
  await nextList(observed, 60_000);
  await requestsEnded(observed, "list_file", 2);
  expect(turns.splice(0)).toEqual(["later", "later"]);
});

test("delete times of secrets that no resource refers to cause no list", async () => {
  const start = Date.UTC(2026, 10, 21);
  const short = Array.from({ length: 50 }, (_, at) =>
    listedSecret(`build-${at}`, 1, { delete_at: start + at * 1_000 }),
  );
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(listedSecret("a"), ...short),
  );
  const observed = await vault.connected();
  await observed.clock.advance(59_000);
  expect(vault.count("list_no_dup")).toBe(1);
});

test("delete times of referenced secrets cause at most ten lists per interval", async () => {
  const start = Date.UTC(2026, 10, 21);
  const names = Array.from({ length: 50 }, (_, at) => `build-${at}`);
  const short = names.map((name, at) => listedSecret(name, 1, { delete_at: start + at * 1_000 }));
  const vault = (await ScriptedVault.start()).on("list_no_dup", listResponse(...short));
  const observed = await vault.connected({ references: referencesTo(names) });
  for (let second = 0; second < 60; second += 1) await observed.clock.advance(1_000);
  expect(vault.count("list_no_dup")).toBeLessThanOrEqual(11);
});

test.each(["data", "result", "results", "items", "list", "records"])(
  "an empty list under %s is none, however often the vault responds with it",
  async (name) => {
    const full = listResponse(listedSecret("a"));
    const empty = json({ message: "ok", [name]: [] });
    const vault = (await ScriptedVault.start()).on("list_no_dup", full, empty, empty, empty, full);
    const observed = await vault.connected();
    for (const waitMs of [60_000, 750, 1_500]) {
      await nextList(observed, waitMs);
      expect(observed.connection.health).toMatchObject({
        state: "failing",
        error: { kind: "unexpected-response" },
      });
      expect(recordOf(observed, "a").version).toBe(1);
    }
    await nextList(observed, 3_000);
    expect(observed.connection.health.state).toBe("healthy");
  },
);

test("an empty list under its own name counts immediately", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(listedSecret("a")),
    listResponse(),
  );
  const observed = await vault.connected();
  await nextList(observed, 60_000);
  expect(observed.connection.health.state).toBe("healthy");
  expect(observed.connection.snapshot?.secretCount).toBe(0);
});

test("a failed list of files keeps the files and does not delay the secrets", async () => {
  const file = { filename: "f.bin", version: 1, size: 3 };
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")), listResponse(listedSecret("a", 2)))
    .on("list_file", json({ files: [file] }), raw("<html>", 200));
  const observed = await vault.connected({ references: referencesTo(["a"], ["f.bin"]) });
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  expect(observed.connection.health.error).toMatchObject({
    operation: "list_file",
    field: "files",
  });
  await requestsEnded(observed, "list_no_dup", 2);
  expect(recordOf(observed, "a").version).toBe(2);
  expect(observed.connection.snapshot?.file("f.bin")).toMatchObject(file);
  // Files again after 0.75 s, 1.5 s, …; secrets once per interval.
  for (let second = 0; second < 60; second += 1) await observed.clock.advance(1_000);
  expect(vault.count("list_file")).toBe(8);
  expect(vault.count("list_no_dup")).toBe(3);
  vault.on("list_file", json({ files: [] }));
  for (let second = 0; second < 60; second += 1) await observed.clock.advance(1_000);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy", "failing", "healthy"]);
});
