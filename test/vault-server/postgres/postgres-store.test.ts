import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { unlimitedScope } from "../../../src/protocol/scope.ts";
import type { Caller } from "../../../src/vault/server/accounts/authenticate.ts";
import { ownCandidates } from "../../../src/vault/server/secrets/find-secret.ts";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import type { Transaction } from "../../../src/vault/server/store/store.ts";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import {
  addSecret,
  ANN,
  BOB,
  EVE,
  FAR,
  NOW,
  secretOf,
  useStore,
} from "../../lab/vault/use-store.ts";

test("a write that has failed sends no more statements, which would not be rolled back", async () => {
  await using database = await PostgresDatabase.create();
  await using store = await openPostgresStore(database.url);
  const late: Promise<void>[] = [];
  const failing = store.write(async ({ secrets, settings }) => {
    const inserted = secrets.insert(secretOf("nobody@example.com", "a"));
    const afterFailure = async (): Promise<void> => {
      await inserted.catch(() => undefined);
      await nextTurn();
      await settings.set("late", "value");
    };
    late.push(afterFailure().catch(() => undefined));
    await inserted;
  });
  await expect(failing).rejects.toMatchObject({ code: "23503" });
  await Promise.all(late);
  expect(await store.read(({ settings }) => settings.get("late"))).toBeUndefined();
});

const callerOf = (email: string): Caller => ({
  email,
  scope: unlimitedScope,
  credential: { kind: "token", digest: email, login: email, expiresAt: FAR },
});

/** Resolves for both writes of a test after both have called it. */
function meeting(): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let met = 0;
  return async () => {
    met += 1;
    if (met === 2) resolve();
    await promise;
  };
}

describe("simultaneous writes of two accounts", () => {
  const { write, store } = useStore();

  test.each<[string, (transaction: Transaction, email: string) => Promise<unknown>]>([
    [
      "the own secret",
      (transaction, email) => ownCandidates(transaction, callerOf(email), "a", NOW),
    ],
    ["what others have received", ({ grants }) => grants.unaccepted([EVE], NOW)],
  ])("do not conflict when they read %s, next to secrets of the same name", async (_, read) => {
    await write(async (transaction) => {
      for (const owner of [ANN, BOB, EVE]) await addSecret(transaction, owner, "a");
      const shared = await addSecret(transaction, EVE, "shared");
      await transaction.grants.grant(shared, [{ kind: "person", email: EVE }], "R");
    });
    const met = meeting();
    let attempts = 0;
    const change = (email: string): Promise<void> =>
      store().write(async (transaction) => {
        attempts += 1;
        await read(transaction, email);
        await met();
        await transaction.secrets.update(secretOf(email, "a", { nextVersion: 3 }));
      });
    await Promise.all([change(ANN), change(BOB)]);
    expect(attempts).toBe(2);
  });
});

describe("a write that conflicts repeatedly", () => {
  const { write, store } = useStore();

  test("does not stop the writes of other accounts", async () => {
    await write(async (transaction) => {
      for (const owner of [ANN, BOB]) await addSecret(transaction, owner, "a");
    });
    const update = (owner: string): Promise<void> =>
      store().write(({ secrets }) => secrets.update(secretOf(owner, "a", { nextVersion: 3 })));
    let attempts = 0;
    await store().write(
      async ({ secrets }) => {
        attempts += 1;
        // Takes the snapshot.
        await secrets.ownAccess(ANN, "a", NOW);
        await update(attempts < 4 ? ANN : BOB);
        await secrets.update(secretOf(ANN, "a", { nextVersion: 4 }));
      },
      { account: EVE },
    );
    expect(attempts).toBe(4);
  });
});

describe("a wide write", () => {
  const { write, store } = useStore();

  test("does not conflict with a write that reads grants, and changes what it reads", async () => {
    await write(async (transaction) => {
      for (const owner of [ANN, BOB]) await addSecret(transaction, owner, "a");
      await transaction.grants.grant(secretOf(BOB, "a"), [{ kind: "person", email: EVE }], "R");
      // Bob's change does not change eve's list.
      await transaction.blockedSenders.block(EVE, [BOB]);
    });
    const met = meeting();
    let attempts = 0;
    const share = store().write(
      async ({ grants }) => {
        attempts += 1;
        await grants.unaccepted([EVE], NOW);
        await met();
        await grants.grant(secretOf(ANN, "a"), [{ kind: "person", email: EVE }], "R");
      },
      { account: ANN, wide: true },
    );
    const change = store().write(
      async ({ grants, secrets }) => {
        attempts += 1;
        await grants.recipients(secretOf(ANN, "a").id);
        await met();
        await secrets.update(secretOf(BOB, "a", { nextVersion: 3 }));
      },
      { account: BOB },
    );
    await Promise.all([share, change]);
    expect(attempts).toBe(2);
  });
});
