import { expect, test } from "vitest";
import { PostgresDatabase } from "../lab/postgres/postgres-database.ts";
import { onPostgres } from "../lab/vault/vault-data.ts";
import { runLoad } from "../lab/vault/run-load.ts";
import { StoreLocation } from "../lab/vault/store-location.ts";

test("forty concurrent clients read what they wrote and get no errors except rate limits", async () => {
  await using stack = new AsyncDisposableStack();
  const data = onPostgres() ? stack.use(await PostgresDatabase.create()).url : undefined;
  const place = stack.use(await StoreLocation.create("sqlite", data));
  const result = await runLoad(place, { clients: 40, seconds: 2 });
  expect(result.examples).toEqual([]);
  expect(result.wrong).toBe(0);
  expect(result.responses).toBeGreaterThan(100);
}, 120_000);
