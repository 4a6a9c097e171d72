import { expect, test } from "vitest";
import { TestDirectory } from "../../../../../test/lab/test-directory.ts";
import { toServiceError } from "../../http/error-response.ts";
import { StoreUnavailableError } from "../store.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { SqliteStore } from "./sqlite-store.ts";

const directory = new TestDirectory();

/** Opens a data file that cannot grow, as on a full disk. */
function openFull(): SqliteStore {
  const connection = new SqliteConnection(directory.join("vault.db"));
  connection.exec("PRAGMA max_page_count = 1");
  return new SqliteStore(connection);
}

const store = (target: SqliteStore, bytes: number): Promise<void> =>
  target.write(({ settings }) => settings.set("big", "x".repeat(bytes)));

test("a write on a full disk is 503 unavailable, changes nothing, and later requests are served", async () => {
  await using full = openFull();
  await full.write(({ settings }) => settings.set("big", "before"));
  const error: unknown = await store(full, 1_000_000).catch((reason: unknown) => reason);
  if (!(error instanceof StoreUnavailableError))
    throw new Error("expected StoreUnavailableError", { cause: error });
  expect(error.message).toBe("the disk of the data file is full");
  const { status, code, retryAfter } = toServiceError(error);
  expect(status).toBe(503);
  expect(code).toBe("unavailable");
  expect(retryAfter).toBe(1);
  expect(await full.read(({ settings }) => settings.get("big"))).toBe("before");
  await full.write(({ settings }) => settings.set("big", "after"));
  expect(await full.read(({ settings }) => settings.get("big"))).toBe("after");
});

test("other errors of SQLite stay what they are", async () => {
  await using full = openFull();
  const wrong = full.write(async () => {
    throw new TypeError("a defect");
  });
  await expect(wrong).rejects.toThrow(TypeError);
});

test("a removed value leaves its pages to later ones, also on a full disk", async () => {
  await using open = new SqliteStore(new SqliteConnection(directory.join("reused.db")));
  await store(open, 1_000_000);
  expect(await open.reusableBytes()).toBe(0);
  await open.write(({ settings }) => settings.set("big", ""));
  expect(await open.reusableBytes()).toBeGreaterThan(900_000);
  await store(open, 900_000);
  expect(await open.reusableBytes()).toBeLessThan(200_000);
});
