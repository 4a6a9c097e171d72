import { randomBytes } from "node:crypto";
import { VaultServerProcess } from "../../../test/lab/real/processes/vault-server-process.ts";
import { insertPostgresSecrets, insertSecrets } from "../../../test/lab/vault/insert-secrets.ts";
import { StoreLocation, type StoreKind } from "../../../test/lab/vault/store-location.ts";
import { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { cpuSeconds, cpuSecondsWithChildren } from "../operator/process-usage.ts";
import type { Case } from "../measure.ts";
import {
  expectResponse,
  expectStatus,
  VALUE,
  type BenchClient,
  type BenchContent,
  type BenchServer,
} from "./bench-server.ts";
import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";

interface RawCommits extends AsyncDisposable {
  /** Inserts one row in its own transaction. */
  commit(): Promise<void>;
}

/**
 * Opens the baseline of durable writes: the same database and durability without a vault, rows of
 * the size of a small secret.
 */
async function openRawCommits(kind: StoreKind, location: string): Promise<RawCommits> {
  const row = randomBytes(400);
  if (kind === "sqlite") {
    const database = new DatabaseSync(`${location}.raw`);
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE raw (id INTEGER PRIMARY KEY, bytes BLOB)",
    );
    const insert = database.prepare("INSERT INTO raw (bytes) VALUES (?)");
    return {
      commit: async () => void insert.run(row),
      [Symbol.asyncDispose]: async () => database.close(),
    };
  }
  const pool = new Pool({ connectionString: location, max: 10 });
  await pool.query("CREATE TABLE raw (id bigserial PRIMARY KEY, bytes bytea)");
  return {
    commit: async () =>
      void (await pool.query({
        name: "raw",
        text: "INSERT INTO raw (bytes) VALUES ($1)",
        values: [row],
      })),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

const HUGE = "huge@example.com";
const labels = { sqlite: "SQLite", postgres: "PostgreSQL" };

/** This vault server, with what has no counterpart elsewhere. */
export interface VaultsyncServer extends BenchServer {
  /** Commits small rows to a database of the same kind, without a vault. */
  readonly rawCommits: Pick<Case, "concurrency" | "run">;
  /** Lists 100,000 secrets, if there are that many. */
  readonly listHuge: (() => Promise<void>) | undefined;
}

async function addAccounts(place: StoreLocation, emails: readonly string[]): Promise<string> {
  const password = randomBytes(12).toString("hex");
  await place.addAccounts(emails, password);
  return password;
}

/**
 * Reads and writes with one account and lists with another, whose list therefore does not change.
 */
async function openClient(own: VaultClient, listing: VaultClient): Promise<BenchClient> {
  const secret = { key_name: "own", key_value: VALUE };
  const etag = expectStatus(await listing.call("list_no_dup"), 200).headers.etag;
  await expectResponse(own.call("protect", secret));
  return {
    health: () => expectResponse(own.send("/healthz", { method: "GET" })),
    read: () => expectResponse(own.call("expose", { key_name: secret.key_name })),
    write: () => expectResponse(own.call("protect", secret)),
    list: () => expectResponse(listing.call("list_no_dup")),
    poll: () => expectResponse(listing.call("list_no_dup", {}, { "if-none-match": etag }), 304),
  };
}

/** Starts a server with its audit log, on a database that writes commits to the disk. */
export async function startVaultsync(
  kind: StoreKind,
  { clients, listed, hasHugeList = false }: BenchContent & { readonly hasHugeList?: boolean },
): Promise<VaultsyncServer> {
  await using owned = new AsyncDisposableStack();
  const place = owned.use(await StoreLocation.create(kind, undefined, { durable: true }));
  // Accounts of their own, because the rate of an account is limited.
  const emails = (name: string): string[] =>
    Array.from({ length: clients }, (_, index) => `${name}-${index}@example.com`);
  const [ownEmails, listEmails] = [emails("own"), emails("list")];
  const password = await addAccounts(place, [...ownEmails, ...listEmails, HUGE]);
  const insert = async (email: string, count: number): Promise<void> =>
    kind === "sqlite"
      ? insertSecrets(place.data, email, count, Date.now())
      : insertPostgresSecrets(place.data, email, count, Date.now());
  for (const email of listEmails) await insert(email, listed);
  if (hasHugeList) await insert(HUGE, 100_000);
  // --dev raises the rate limits. The values of the inserted secrets are not sealed; they are only
  // listed.
  const server = owned.use(
    await VaultServerProcess.start(["--dev", "--allow-missing-keys", ...place.args]),
  );
  const logIn = async (email: string): Promise<VaultClient> =>
    owned.use(await VaultClient.connect(server.url, email, password, { keepAlive: true }));
  const huge = await logIn(HUGE);
  const opened: BenchClient[] = [];
  for (const [index, email] of ownEmails.entries())
    opened.push(await openClient(await logIn(email), await logIn(listEmails[index] ?? "")));
  const raw = owned.use(await openRawCommits(kind, place.data));
  const databasePid = await place.cluster?.pid();
  const running = owned.move();
  return {
    label: labels[kind],
    clients: opened,
    cpuSeconds: async () =>
      (await cpuSeconds(server.pid)) +
      (databasePid === undefined ? 0 : await cpuSecondsWithChildren(databasePid)),
    rawCommits: { concurrency: kind === "sqlite" ? 1 : 10, run: () => raw.commit() },
    listHuge: hasHugeList ? () => expectResponse(huge.call("list_no_dup")) : undefined,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
