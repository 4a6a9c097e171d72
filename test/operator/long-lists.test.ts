import { expect, test } from "vitest";
import { accountOf, passwordIn, SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultConnectionKind } from "../../src/operator/api/kinds.ts";

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
