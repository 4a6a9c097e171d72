import { expect, test } from "vitest";
import { listedSecret, type Script, ScriptedVault } from "../../lab/vault/scripted-vault.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ResponseMemory } from "../../../src/operator/vault-client/http/response-memory.ts";
import { readListAside } from "../../../src/operator/vault-client/mirror/list-reader.ts";
import { accountOf, passwordIn, SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import type { ApiRequest } from "../../lab/simulated/api-server/api-client.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { busiestSecond } from "../../lab/busiest-second.ts";
import { seededRandom } from "../../lab/seeded-random.ts";
import { observeConnection } from "../../lab/vault/vault-connection.ts";
import { ListGate } from "../../../src/operator/vault-client/http/list-gate.ts";
import type {
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "../../../src/operator/vault-client/http/vault-transport.ts";

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

const shop = { namespace: "shop", name: "vault" };

test("a list that is too long is reported, rarely requested, and changes no target", async () => {
  await using scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  scene.namespace("shop");
  scene.connectAccount(shop);
  scene.vault().writeAs(accountOf(shop), ["db"]);
  scene.follow({ password: "db" }, { connection: shop });
  scene.start({ maxListBytes: 4_096 });
  await scene.settle();
  scene.vault().writeAs(
    accountOf(shop),
    Array.from({ length: 20 }, (_, index) => `name-${index}`),
  );
  await scene.settle();
  scene.vault().calls.length = 0;
  await scene.settle(3_600_000);
  expect(scene.conditionOf(vaultConnectionKind, shop)).toMatchObject({
    status: "False",
    reason: "TooLarge",
    message:
      `cannot list the secrets of ${accountOf(shop)} at https://vault.example.com: the list has more than 4096 bytes ` +
      `(--max-list-bytes), and is not read; limit it with spec.scope, for example with onlyReferenced, or have ${accountOf(shop)} ` +
      "block who shares that much with it: `vaultsync secret list` shows the owners, or raise --max-list-bytes of the operator. " +
      "The operator tries again, at least every 5 minutes",
  });
  expect(
    scene.vault().calls.filter(({ operation }) => operation === "list_no_dup").length,
  ).toBeLessThanOrEqual(12);
  expect(scene.outcome()).toContain(`password=${accountOf(shop)} db 1`);
});

const CONNECTIONS = ["a", "b", "c", "d", "e", "f", "g", "h"];
const NAMES = Array.from({ length: 20 }, (_, n) => `secret-${n}`);

test("a process that works on 8 shards reconciles at most --concurrency resources together", async () => {
  await using scene = new SimulatedWorld();
  for (const namespace of CONNECTIONS) scene.addVault(namespace, NAMES);
  const creating = { now: 0, most: 0 };
  const count = ({ verb, resource }: ApiRequest, change: number): void => {
    if (verb !== "create" || resource !== SECRETS) return;
    creating.now += change;
    creating.most = Math.max(creating.most, creating.now);
  };
  scene.network = {
    send: (request) => count(request, 1),
    respond: (request) => count(request, -1),
  };
  scene.start({ shards: 8, concurrency: 5 });
  await scene.clock.advance(120_000);
  for (const namespace of CONNECTIONS)
    for (const name of NAMES) expect(scene.value(namespace, name)).toBe(`${name}@1`);
  expect(creating.most).toBe(5);
});

const HOLDABLE = { etag: '"1"', "preference-applied": "wait" };

/**
 * A vault that always has the same list, and holds requests for it. Records the monotonic time of
 * each request.
 */
class StaticVault implements VaultTransport {
  readonly #clock: VirtualClock;
  readonly #at: number[];

  constructor(clock: VirtualClock, at: number[]) {
    this.#clock = clock;
    this.#at = at;
  }

  async request({
    operation,
    ifNoneMatch,
    waitSeconds,
    signal,
  }: VaultRequest): Promise<VaultResponse> {
    this.#at.push(this.#clock.monotonic());
    if (waitSeconds !== undefined) await this.#clock.sleep(waitSeconds * 1_000, signal);
    const headers: Readonly<Record<string, string>> = HOLDABLE;
    const body =
      operation === "list_no_dup"
        ? { secrets: [] }
        : { access_token: "canary", expires_in: 86_400 };
    return {
      status: ifNoneMatch === undefined ? 200 : 304,
      body: new TextEncoder().encode(JSON.stringify(body)),
      header: (name) => headers[name],
    };
  }

  updateCa(): void {}

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

test("a thousand connections are listed in a minute with at most 40 requests in any second", async () => {
  const clock = new VirtualClock();
  const at: number[] = [];
  const listGate = new ListGate(clock);
  const random = seededRandom(1);
  const connections = Array.from({ length: 1_000 }, (_, index) => {
    const transport = new StaticVault(clock, at);
    const email = `user-${index}@example.com`;
    return observeConnection({ url: "", transport, email, clock, listGate, random, follow: "Auto" })
      .connection;
  });
  // One login and one list of each.
  await clock.advance(60_000);
  expect(connections.filter(({ snapshot }) => snapshot !== undefined)).toHaveLength(1_000);
  await clock.advance(180_000);
  expect(busiestSecond(at)).toBeLessThanOrEqual(40);
  expect(connections.filter(({ health }) => health.state === "healthy")).toHaveLength(1_000);
});
