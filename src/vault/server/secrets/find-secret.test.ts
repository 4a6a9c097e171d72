import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { addSecret, ANN, BOB, EVE, NOW } from "../../../../test/lab/vault/use-store.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import { openSqliteStore } from "../store/sqlite/sqlite-store.ts";
import { ownerOf } from "./find-secret.ts";

test("the owner of a named secret is certain only for those who have access to one of the name", async () => {
  await using store = openSqliteStore(":memory:");
  await store.write(async (transaction) => {
    for (const email of [ANN, BOB, EVE])
      await transaction.users.insert({ email, passwordHash: "hash" }, NOW);
    for (const [owner, name] of [
      [ANN, "granted"],
      [ANN, "both"],
      [EVE, "both"],
      [ANN, "private"],
    ] as const) {
      const secret = await addSecret(transaction, owner, name);
      if (name !== "private")
        await transaction.grants.grant(secret, [{ kind: "person", email: BOB }], "RW");
    }
  });
  const credential = { kind: "token", digest: "", login: "", expiresAt: 0 } as const;
  const caller = { email: BOB, scope: unlimitedScope, credential };
  const find = (name: string, owner?: string) =>
    ownerOf({ store, clock: new VirtualClock(NOW) }, caller, name, owner)();
  expect(await Promise.all([find("granted"), find("granted", ANN), find("both", EVE)])).toEqual([
    ANN,
    ANN,
    EVE,
  ]);
  // A stranger who names an account must not take the turns of its writes.
  for (const [name, owner] of [
    ["both"],
    ["private"],
    ["private", ANN],
    ["missing", ANN],
    ["granted", EVE],
  ] as const) {
    expect(await find(name, owner)).toBeUndefined();
  }
});
