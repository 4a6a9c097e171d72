import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  addSecret,
  ANN,
  BOB,
  envelope,
  FAR,
  listOf,
  NOW,
  secretOf,
  useStore,
  versionOf,
} from "../../lab/vault/use-store.ts";
import type { Transaction } from "../../../src/vault/server/store/store.ts";

/**
 * Sets a setting. The failure of a statement that is sent after it reaches the transaction first.
 */
async function setSlowly({ settings }: Transaction, name: string, value: string): Promise<void> {
  await settings.set(name, value);
  for (const _ of [1, 2, 3, 4, 5]) await Promise.resolve();
}

describe("transactions of a store", () => {
  const { store, write, read } = useStore();

  const giveUp = (mine: string, others: string) =>
    write(async ({ settings }) => {
      if ((await settings.get(others)) === "held") await settings.set(mine, "given up");
    });

  test("a failed transaction is rolled back and rejects with its error", async () => {
    const failure = new Error("on purpose");
    const failed = write(async (transaction) => {
      await addSecret(transaction, ANN, "a");
      throw failure;
    });
    await expect(failed).rejects.toBe(failure);
    expect(await read((transaction) => listOf(transaction, ANN))).toEqual([]);
    await write((transaction) => addSecret(transaction, ANN, "a"));
    expect(await read((transaction) => listOf(transaction, ANN))).toHaveLength(1);
  });

  test("a rejected statement rolls back its transaction, and the next one works", async () => {
    await expect(
      write(async (transaction) => {
        await transaction.settings.set("x", "1");
        await transaction.secrets.insert(secretOf("nobody@example.com", "a"));
      }),
    ).rejects.toThrow(/foreign key/iu);
    expect(await read(({ settings }) => settings.get("x"))).toBeUndefined();
  });

  test("a failure also rolls back statements that were started together and wait for a turn", async () => {
    const failure = new Error("on purpose");
    const failed = write(async ({ settings }) => {
      await settings.get("late");
      const from = performance.now();
      // Longer than a slice of long work.
      while (performance.now() - from < 20);
      await Promise.all([settings.set("late", "1"), Promise.reject(failure)]);
    });
    await expect(failed).rejects.toBe(failure);
    // Until then a statement outside of the transaction would have run.
    await delay(100);
    expect(await read(({ settings }) => settings.get("late"))).toBeUndefined();
  });

  test("a failure ends what its transaction has started: later statements change nothing", async () => {
    const failure = new Error("on purpose");
    const gate = Promise.withResolvers<undefined>();
    const late = Promise.withResolvers<unknown>();
    const failed = write(async ({ settings }) => {
      const more = async (): Promise<void> => {
        await gate.promise;
        await settings.set("late", "1");
      };
      void more().then(late.resolve, late.resolve);
      throw failure;
    });
    await expect(failed).rejects.toBe(failure);
    gate.resolve(undefined);
    expect(await late.promise).toBeInstanceOf(Error);
    expect(await read(({ settings }) => settings.get("late"))).toBeUndefined();
  });

  test("a read of one statement sees what was committed and rejects with its error", async () => {
    await write(({ settings }) => settings.set("x", "1"));
    const get = () => store().readOne(({ settings }) => settings.get("x"));
    expect(await get()).toBe("1");
    await expect(
      store().readOne(async () => Promise.reject(new Error("on purpose"))),
    ).rejects.toThrow("on purpose");
    await write(({ settings }) => settings.set("x", "2"));
    expect(await Promise.all(Array.from({ length: 30 }, get))).toEqual(
      Array.from({ length: 30 }, () => "2"),
    );
  });

  test("a transaction reads its own writes", async () => {
    const seen = await write(async (transaction) => {
      await addSecret(transaction, ANN, "a");
      return listOf(transaction, ANN);
    });
    expect(seen).toHaveLength(1);
  });

  test("concurrent writers of a secret get consecutive version numbers", async () => {
    await write((transaction) => addSecret(transaction, ANN, "a"));
    const numbers = await Promise.all(
      Array.from({ length: 40 }, () =>
        write(async ({ secrets }) => {
          const [held] = await secrets.accessByName(ANN, "a", NOW);
          const { secret } = held!;
          await secrets.insertVersion(secret.id, versionOf(secret.nextVersion, {}), envelope("x"));
          await secrets.update({ ...secret, nextVersion: secret.nextVersion + 1 });
          return secret.nextVersion;
        }),
      ),
    );
    expect(numbers.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 2),
    );
  });

  test("a name created concurrently is created once", async () => {
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        write(async (transaction) => {
          if ((await transaction.secrets.accessByName(ANN, "a", NOW)).length > 0) return 0;
          await addSecret(transaction, ANN, "a", { id: `id-${index}` });
          return 1;
        }),
      ),
    );
    expect(created.reduce<number>((sum, one) => sum + one, 0)).toBe(1);
  });

  test("concurrent inserts create one account per address and one team per name", async () => {
    const inserted = await Promise.all(
      Array.from({ length: 10 }, () =>
        write(async ({ users, teams }) => [
          await users.insert({ email: "new@example.com", passwordHash: "x" }, NOW),
          await teams.insert({ groupId: "t", id: "id", creator: ANN, members: [ANN] }),
        ]),
      ),
    );
    expect(inserted.filter(([account]) => account)).toHaveLength(1);
    expect(inserted.filter(([, team]) => team)).toHaveLength(1);
  });

  test("two transactions that read each other's writes are serialized", async () => {
    // Write skew: each sees the other's permission and gives its own away; one must be left.
    for (let round = 0; round < 10; round += 1) {
      await write(async ({ settings }) => {
        for (const name of ["one", "two"]) await settings.set(name, "held");
      });
      await Promise.all([giveUp("one", "two"), giveUp("two", "one")]);
      const states = await read(async ({ settings }) => [
        await settings.get("one"),
        await settings.get("two"),
      ]);
      expect(states.filter((state) => state === "held")).toHaveLength(1);
    }
  });

  test("writes that start their statements together are all made, in the order of the calls", async () => {
    const results = Array.from({ length: 20 }, (_, index) =>
      write(async (transaction) => {
        const { settings } = transaction;
        const [before] = await Promise.all([
          settings.get("a"),
          setSlowly(transaction, "a", `${index}`),
          settings.set("b", `${index}`),
        ]);
        return before;
      }),
    );
    const before = await Promise.all(results);
    const last = await read(({ settings }) => settings.get("a"));
    // Each value but the last was read by the write after it.
    expect(new Set([...before, last])).toEqual(
      new Set([undefined, ...results.map((_, index) => `${index}`)]),
    );
  });

  test("a reader sees one snapshot during writes", async () => {
    const counts: number[] = [];
    const writers = Array.from({ length: 10 }, (_, index) =>
      write(async (transaction) => {
        await addSecret(transaction, ANN, `a${index}`);
        await addSecret(transaction, BOB, `b${index}`);
      }),
    );
    const readers = Array.from({ length: 10 }, () =>
      read(async (transaction) => {
        const anns = await listOf(transaction, ANN);
        const bobs = await listOf(transaction, BOB);
        counts.push(anns.length - bobs.length);
      }),
    );
    await Promise.all([...writers, ...readers]);
    expect(counts).toEqual(Array.from({ length: 10 }, () => 0));
  });

  test("scrub after removals keeps the remaining data", async () => {
    await write(async (transaction) => {
      await addSecret(transaction, ANN, "gone", { deleteAt: NOW });
      await addSecret(transaction, ANN, "kept", { deleteAt: FAR });
    });
    for (const { id } of await read(({ secrets }) => secrets.due(NOW, 9)))
      await write(({ secrets }) => secrets.remove(id));
    await store().scrub();
    await store().scrub();
    expect(
      (await read((transaction) => listOf(transaction, ANN))).map(({ secret }) => secret.name),
    ).toEqual(["kept"]);
  });
});
