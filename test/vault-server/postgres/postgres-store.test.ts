import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import { secretOf } from "../../lab/vault/use-store.ts";

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
