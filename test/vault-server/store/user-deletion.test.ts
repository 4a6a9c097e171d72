import { expect, test } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { UserManager } from "../../../src/vault/server/accounts/manage-users.ts";
import type { Store, Transaction } from "../../../src/vault/server/store/store.ts";
import { addSecret, ANN, BOB, useStore } from "../../lab/vault/use-store.ts";

const { store, write, read } = useStore();
const RECEIVED = 600;
const TEAMS = 12;

/** Amounts of a user that take a transaction the longer, the more there are. */
async function amounts({ grants, teams }: Transaction): Promise<[grants: number, teams: number]> {
  const received = await grants.received(ANN, RECEIVED);
  return [received.length, await teams.countOf(ANN)];
}

/** Returns the store, with the amounts that each transaction removes. */
function observed(): {
  readonly observedStore: Pick<Store, "read" | "write" | "scrub">;
  readonly removed: [number, number][];
} {
  const removed: [number, number][] = [];
  const writes: Store["write"] = (work) =>
    write(async (transaction) => {
      const [grants, teams] = await amounts(transaction);
      const result = await work(transaction);
      const [grantsLeft, teamsLeft] = await amounts(transaction);
      removed.push([grants - grantsLeft, teams - teamsLeft]);
      return result;
    });
  const observedStore = { read, write: writes, scrub: () => store().scrub() };
  return { observedStore, removed };
}

test("a user with many teams and received shares is deleted in small transactions", async () => {
  await write(async (transaction) => {
    for (let index = 0; index < RECEIVED; index += 1) {
      const secret = await addSecret(transaction, BOB, `s${index}`);
      await transaction.grants.grant(secret, [{ kind: "person", email: ANN }], "R");
    }
    for (let index = 0; index < TEAMS; index += 1) {
      const team = { groupId: `team ${"x".repeat(index)}`, id: `id-${index}`, creator: ANN };
      await transaction.teams.insert({ ...team, members: [ANN, BOB] });
    }
  });
  const { observedStore, removed } = observed();
  await new UserManager(observedStore, systemClock).delete(ANN);
  expect(await read(amounts)).toEqual([0, 0]);
  expect(Math.max(...removed.map(([grants]) => grants))).toBe(200);
  expect(Math.max(...removed.map(([, teams]) => teams))).toBe(1);
});
