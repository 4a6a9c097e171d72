import { expect, test } from "vitest";
import { PostgresDatabase } from "../lab/postgres/postgres-database.ts";
import { runRaces } from "../lab/vault/races/run-races.ts";
import { StoreLocation } from "../lab/vault/store-location.ts";
import { onPostgres } from "../lab/vault/vault-data.ts";

test("racing changes of permissions, versions, logins and users break no rule", async () => {
  await using owned = new AsyncDisposableStack();
  const data = onPostgres() ? owned.use(await PostgresDatabase.create()).url : undefined;
  const place = owned.use(await StoreLocation.create("sqlite", data));
  // `npm run bench -- races` is for longer ones.
  const { violations, reads } = await runRaces(place, {
    servers: onPostgres() ? 2 : 1,
    seconds: 2,
  });
  expect(violations).toEqual([]);
  expect(reads).toBeGreaterThan(0);
}, 300_000);
