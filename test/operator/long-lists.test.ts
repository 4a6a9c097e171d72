import { expect, test } from "vitest";
import { accountOf, passwordIn, SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import type { ApiRequest } from "../lab/simulated/api-server/api-client.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";

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
