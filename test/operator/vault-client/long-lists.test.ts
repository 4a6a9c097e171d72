import { expect, test } from "vitest";
import { listedSecret, ScriptedVault, type Script } from "../../lab/vault/scripted-vault.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ResponseMemory } from "../../../src/operator/vault-client/http/response-memory.ts";
import { readListAside } from "../../../src/operator/vault-client/mirror/list-reader.ts";

const MINUTE = 60_000;
const KIB = 1024;

/** Announces a body of this length, and sends all of it but the last byte. */
const unfinished =
  (length: number): Script =>
  (response) =>
    void response.writeHead(200, { "content-length": length }).write(" ".repeat(length - 1));

/** Sends a body without its length. */
const unannounced =
  (body: string): Script =>
  (response) => {
    response.writeHead(200).write(body.slice(0, 1));
    response.end(body.slice(1));
  };

const listOf = (count: number): string =>
  JSON.stringify({
    secrets: Array.from({ length: count }, (_, index) => listedSecret(`name-${index}`)),
  });

test.each<[string, Script, string]>([
  ["announces more bytes, before one of them arrives", unfinished(64 * KIB + 1), "65536 bytes"],
  ["has more bytes", unannounced(listOf(2_000)), "65536 bytes"],
  ["has more values", unannounced(`{"secrets":[${"1,".repeat(8_200)}1]}`), "8192 values"],
  ["has more entries", unannounced(listOf(820)), "819 entries"],
])("a list that %s is refused, and requested again after 5 minutes", async (_, script, excess) => {
  const vault = (await ScriptedVault.start()).on("list_no_dup", script);
  const { connection, clock } = vault.connect({
    listMemory: new ResponseMemory(64 * KIB, 64 * KIB),
  });
  await expect
    .poll(() => connection.health.error)
    .toMatchObject({ excess: expect.stringContaining(`more than ${excess}`) });
  for (let minute = 0; minute < 5; minute += 1) {
    connection.pollSoon();
    await clock.advance(MINUTE - 1);
    expect(vault.count("list_no_dup")).toBe(1);
  }
  await clock.advance(5);
  await expect.poll(() => vault.count("list_no_dup")).toBe(2);
});

test("bodies that never end take the memory of their tenant only, and for 30 s at most", async () => {
  const stranger = (await ScriptedVault.start()).on("list_no_dup", unfinished(512 * KIB));
  const shop = (await ScriptedVault.start()).on("list_no_dup", unannounced(listOf(10)));
  const clock = new VirtualClock();
  const listMemory = new ResponseMemory(512 * KIB, 2_048 * KIB);
  const common = { clock, listMemory, timeoutMs: 60 * MINUTE };
  const hostile = Array.from({ length: 4 }, () =>
    stranger.connect({ ...common, tenant: "stranger/" }),
  );
  await expect.poll(() => stranger.count("list_no_dup")).toBe(4);
  const { connection } = await shop.connected({ ...common, tenant: "shop/" });
  expect(connection.snapshot?.secretCount).toBe(10);
  // One of them has the memory. All further ones wait for it in turn.
  for (let ended = 1; ended <= 4; ended += 1) {
    await clock.advance(30_001);
    await expect
      .poll(() => hostile.filter((each) => each.connection.health.state === "failing").length)
      .toBe(ended);
  }
  for (const each of hostile)
    expect(each.connection.health.error).toMatchObject({ kind: "transient", code: "timeout" });
});

const MIB = 1024 * 1024;

/** Returns a list that is read in a thread. */
function longList(): Uint8Array {
  const secrets = Array.from({ length: 10_000 }, (_, at) => ({
    key_name: `name-${at}`,
    key_version: 1,
    metadata: { description: "x".repeat(60) },
  }));
  return Buffer.from(JSON.stringify({ secrets }));
}

test("the long lists of one tenant delay that of another by one list", async () => {
  const read: string[] = [];
  const readAs = (tenant: string): Promise<unknown> =>
    readListAside(
      "list_no_dup",
      { body: longList(), tracked: new Set(), maxBytes: 16 * MIB },
      tenant,
    ).then(() => read.push(tenant));
  await Promise.all([...Array.from({ length: 6 }, () => readAs("stranger/")), readAs("shop/")]);
  expect(read.indexOf("shop/")).toBeLessThanOrEqual(2);
});
