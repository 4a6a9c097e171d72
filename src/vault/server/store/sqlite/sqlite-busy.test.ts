import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { yieldToEventLoop } from "../../../../lib/clock.ts";
import { VirtualClock } from "../../../../../test/lab/clock/virtual-clock.ts";
import { TestDirectory } from "../../../../../test/lab/test-directory.ts";
import { TestVault } from "../../../../../test/lab/vault/test-vault.ts";
import { toServiceError } from "../../http/error-response.ts";
import { StoreUnavailableError } from "../store.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { SqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";

const directory = new TestDirectory();

/** The file of each test. */
const dataFile = (): string => directory.join("vault.db");

/** Writes to the file like another process, until `end` is called. */
function occupy(): { readonly end: () => void } {
  const other = new DatabaseSync(dataFile());
  other.exec("BEGIN IMMEDIATE");
  onTestFinished(() => other.close());
  return { end: () => other.exec("ROLLBACK") };
}

const open = (options?: SqliteStoreOptions): SqliteStore =>
  new SqliteStore(new SqliteConnection(dataFile()), options);

const trace = (store: SqliteStore): Promise<string | undefined> =>
  store.read(({ settings }) => settings.get("trace"));

/** Appends to the trace; resolves with the error when it fails. */
const append = (store: SqliteStore, text: string): Promise<unknown> =>
  store
    .write(async ({ settings }) =>
      settings.set("trace", `${(await settings.get("trace")) ?? ""}${text}`),
    )
    .then(() => "written")
    .catch((error: unknown) => error);

/** Resolves with the outcome so far. */
const soFar = (write: Promise<unknown>): Promise<unknown> =>
  Promise.race([write, yieldToEventLoop().then(() => "waiting")]);

test("reads are served while another process writes; writes wait and are applied once, in order", async () => {
  await using store = open();
  await append(store, "-");
  const other = occupy();
  const writes = "abcdefghij".split("").map((text) => append(store, text));
  for (let reads = 0; reads < 20; reads += 1) expect(await trace(store)).toBe("-");
  expect(await soFar(writes[0]!)).toBe("waiting");
  other.end();
  expect(new Set(await Promise.all(writes))).toEqual(new Set(["written"]));
  expect(await trace(store)).toBe("-abcdefghij");
});

test("a write is 503 unavailable after ten seconds of another process's, and changes nothing", async () => {
  const clock = new VirtualClock();
  await using store = open({ clock, random: () => 0.5 });
  const other = occupy();
  const early = append(store, "early");
  await clock.advance(4_000);
  const late = append(store, "late");
  await clock.advance(5_999);
  expect(await soFar(early)).toBe("waiting");
  expect(await soFar(late)).toBe("waiting");
  await clock.advance(1);
  const error = await soFar(early);
  if (!(error instanceof StoreUnavailableError))
    throw new Error("expected StoreUnavailableError", { cause: error });
  const { status, code, retryAfter } = toServiceError(error);
  expect(status).toBe(503);
  expect(code).toBe("unavailable");
  expect(retryAfter).toBe(1);
  expect(error.message).toBe("another process is writing the data file");
  expect(await soFar(late)).toBe("waiting");
  other.end();
  await clock.advance(250);
  expect(await soFar(late)).toBe("written");
  expect(await trace(store)).toBe("late");
});

test("a vault server responds to reads while another process writes, and to writes afterwards", async () => {
  await using vault = await TestVault.start({ data: dataFile() });
  const ann = await vault.client("ann@example.com");
  const other = occupy();
  const written = ann.call("protect", { key_name: "a", key_value: "v" });
  expect((await ann.call("list_no_dup")).json()).toEqual({ secrets: [] });
  other.end();
  expect((await written).status).toBe(200);
  expect((await ann.call("expose", { key_name: "a" })).json()).toMatchObject({
    key_value: "v",
    key_version: 1,
  });
});
