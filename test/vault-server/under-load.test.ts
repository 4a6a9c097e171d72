import { expect, test } from "vitest";
import { killRounds } from "../lab/vault/kill-rounds.ts";
import { PostgresDatabase } from "../lab/postgres/postgres-database.ts";
import { runRaces } from "../lab/vault/races/run-races.ts";
import { runLoad } from "../lab/vault/run-load.ts";
import { StoreLocation } from "../lab/vault/store-location.ts";
import { onPostgres } from "../lab/vault/vault-data.ts";

/** `npm run bench -- load`, `kill9` and `races` run the same for longer. */
const rounds = Number(process.env.VAULTSYNC_TEST_KILLS ?? 2);

async function newPlace(owned: AsyncDisposableStack): Promise<StoreLocation> {
  const data = onPostgres() ? owned.use(await PostgresDatabase.create()).url : undefined;
  return owned.use(await StoreLocation.create("sqlite", data));
}

test("forty concurrent clients read what they wrote and get no errors except rate limits", async () => {
  await using owned = new AsyncDisposableStack();
  const result = await runLoad(await newPlace(owned), { clients: 40, seconds: 2 });
  expect(result.examples).toEqual([]);
  expect(result.wrong).toBe(0);
  expect(result.responses).toBeGreaterThan(100);
}, 120_000);

test(
  "kill -9 under eight writers loses, tears or renumbers no acknowledged write",
  async () => {
    await using owned = new AsyncDisposableStack();
    const result = await killRounds(await newPlace(owned), { rounds });
    expect(result.rounds).toBe(rounds);
    expect(result.acknowledgedSecrets).toBeGreaterThan(0);
  },
  120_000 + rounds * 20_000,
);

test("racing changes of permissions, versions, logins and users break no rule", async () => {
  await using owned = new AsyncDisposableStack();
  const { violations, reads } = await runRaces(await newPlace(owned), {
    servers: onPostgres() ? 2 : 1,
    seconds: 2,
  });
  expect(violations).toEqual([]);
  expect(reads).toBeGreaterThan(0);
}, 300_000);
