import { expect, test } from "vitest";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import type { Store } from "../../../src/vault/server/store/store.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import { addSecret, ANN, BOB, envelope, EVE, NOW, versionOf } from "../../lab/vault/use-store.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";

const IN_FLIGHT = 40;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** A database in which ann has the secret `hot`, and bob and eve have one each. */
async function createDatabase(): Promise<PostgresDatabase> {
  const database = await PostgresDatabase.create();
  await using store = await openPostgresStore(database.url);
  await store.write(async (transaction) => {
    for (const email of [ANN, BOB, EVE]) {
      await transaction.users.insert({ email, passwordHash: "hash" }, NOW);
      await addSecret(transaction, email, "hot");
    }
  });
  return database;
}

interface Count {
  /** Attempts of writes, the repeated ones included, and writes that are done. */
  attempts: number;
  done: number;
  /** Each write waits for it within its transaction. */
  readonly until?: Promise<void>;
}

/** Adds a version to the secret of an account, as `protect` does. Returns its number. */
async function addVersion(
  store: Store,
  owner: string,
  account = owner,
  count: Count = { attempts: 0, done: 0 },
): Promise<number> {
  const version = await store.write(
    async ({ secrets }) => {
      count.attempts += 1;
      await count.until;
      const { secret } = (await secrets.accessByName(owner, "hot", NOW))[0]!;
      await secrets.insertVersion(secret.id, versionOf(secret.nextVersion, {}), envelope("x"));
      await secrets.update({ ...secret, nextVersion: secret.nextVersion + 1 });
      return secret.nextVersion;
    },
    { account, ownerOf: async () => owner },
  );
  count.done += 1;
  return version;
}

test("a write of another account passes the queue of a secret that one account writes", async () => {
  await using database = await createDatabase();
  await using store = await openPostgresStore(database.url);
  const { promise: until, resolve: end } = Promise.withResolvers<void>();
  const hot: Count = { attempts: 0, done: 0, until };
  const writing = upTo(IN_FLIGHT).map(() => addVersion(store, ANN, ANN, hot));
  for (const _ of upTo(3)) await addVersion(store, BOB);
  // The first write still has its row, and 39 are in the queue.
  expect(hot).toMatchObject({ attempts: 1, done: 0 });
  end();
  expect((await Promise.all(writing)).toSorted((a, b) => a - b)).toEqual(
    upTo(IN_FLIGHT).map((n) => n + 1),
  );
});

test("writes of one account's data by two servers and several accounts never conflict", async () => {
  await using database = await createDatabase();
  await using one = await openPostgresStore(database.url);
  await using two = await openPostgresStore(database.url);
  const count: Count = { attempts: 0, done: 0 };
  const accounts = [ANN, BOB, EVE];
  const versions = await Promise.all(
    upTo(IN_FLIGHT).map((n) => addVersion(n % 2 === 0 ? one : two, ANN, accounts[n % 3], count)),
  );
  expect(versions.toSorted((a, b) => a - b)).toEqual(upTo(IN_FLIGHT).map((n) => n + 1));
  expect(count.attempts).toBe(IN_FLIGHT);
});

test("writes of a grantee and of the creator through two servers never conflict", async () => {
  await using database = await PostgresDatabase.create();
  const options = { data: database.url, masterKey: generateMasterKey(), clock: new VirtualClock() };
  {
    await using one = await TestVault.start({ ...options, emails: [ANN, BOB] });
    await using two = await TestVault.start({ ...options, dev: { users: [] } });
    const [ann, bob] = [await one.client(ANN), await one.client(BOB)];
    await ann.call("protect", { key_name: "hot", key_value: "v" });
    const grant = { usr_id_from: ANN, key_name: "hot", usr_id_to: BOB, permission: "RW" };
    expect((await ann.call("share", grant)).outcome()).toBe("200");
    const callers = [ann, bob, ann.at(two.url), bob.at(two.url)];
    const writing = upTo(IN_FLIGHT).map(async (n) => {
      const owner = n % 3 === 0 ? { owner: ANN } : {};
      const body = { key_name: "hot", key_value: "v", without_list: 1, ...owner };
      return (await callers[n % 4]!.call("protect_link", body)).json().secret.key_version;
    });
    const versions: number[] = await Promise.all(writing);
    expect(versions.toSorted((a, b) => a - b)).toEqual(upTo(IN_FLIGHT).map((n) => n + 1));
  }
  const { rows } = await database.run(
    "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()",
  );
  // A conflict is rolled back and tried again.
  expect(rows[0].xact_rollback).toBeLessThan(3);
});

test("a wide write of one server sees the wide write of another one before it", async () => {
  await using database = await createDatabase();
  await using one = await openPostgresStore(database.url);
  await using two = await openPostgresStore(database.url);
  const seen: number[] = [];
  const share = (store: Store, account: string): Promise<void> =>
    store.write(
      async ({ grants, secrets }) => {
        const received = await grants.unaccepted([EVE], NOW);
        const [found] = await secrets.accessByName(account, "hot", NOW);
        await grants.grant(found!.secret, [{ kind: "person", email: EVE }], "R");
        seen.push(received.length);
      },
      { account, wide: true },
    );
  await Promise.all([share(one, ANN), share(two, BOB)]);
  expect(seen).toEqual([0, 1]);
});

test("a read of another account passes the queue of an account that reads much", async () => {
  await using database = await createDatabase();
  await using store = await openPostgresStore(database.url);
  const { promise: until, resolve: end } = Promise.withResolvers<void>();
  let done = 0;
  const reading = upTo(IN_FLIGHT).map(() =>
    store.read(() => until, { account: ANN }).then(() => (done += 1)),
  );
  for (const _ of upTo(3))
    await store.read(({ secrets }) => secrets.accessByName(BOB, "hot", NOW), { account: BOB });
  expect(done).toBe(0);
  end();
  await Promise.all(reading);
});
