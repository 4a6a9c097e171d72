import { expect, test } from "vitest";
import { killRounds } from "../lab/vault/kill-rounds.ts";
import { PostgresDatabase } from "../lab/postgres/postgres-database.ts";
import { onPostgres } from "../lab/vault/vault-data.ts";
import { StoreLocation } from "../lab/vault/store-location.ts";

/** `npm run bench -- kill9` is for many more. */
const rounds = Number(process.env.VAULTSYNC_TEST_KILLS ?? 2);

test(
  "kill -9 under eight writers loses, tears or renumbers no acknowledged write",
  async () => {
    await using stack = new AsyncDisposableStack();
    const data = onPostgres() ? stack.use(await PostgresDatabase.create()).url : undefined;
    const place = stack.use(await StoreLocation.create("sqlite", data));
    const result = await killRounds(place, { rounds });
    expect(result.rounds).toBe(rounds);
    expect(result.acknowledgedSecrets).toBeGreaterThan(0);
  },
  120_000 + rounds * 20_000,
);
