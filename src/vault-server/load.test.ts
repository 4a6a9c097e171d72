import { expect, test } from "vitest";
import { PostgresDatabase } from "../../test/support/postgres-database.ts";
import { onPostgres } from "../../test/support/vault-data.ts";
import { runLoad } from "../../test/support/vault-load.ts";
import { VaultPlace } from "../../test/support/vault-place.ts";

test("forty clients doing everything at once get what they wrote, and no other refusal than a limit", async () => {
  await using stack = new AsyncDisposableStack();
  const data = onPostgres() ? stack.use(await PostgresDatabase.create()).url : undefined;
  const place = stack.use(await VaultPlace.create("sqlite", data));
  const result = await runLoad(place, { clients: 40, seconds: 2 });
  expect(result.examples).toEqual([]);
  expect(result.wrong).toBe(0);
  expect(result.answers).toBeGreaterThan(100);
}, 120_000);
