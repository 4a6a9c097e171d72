import { randomBytes } from "node:crypto";
import { Redacted } from "../src/lib/redacted.ts";
import { openStore } from "../src/vault-server/store/open-store.ts";
import { addUser } from "../src/vault-server/accounts/users.ts";
import { insertPostgresSecrets, insertSecrets } from "../test/support/vault/insert-secrets.ts";
import { VaultClient, type VaultResponse } from "../test/support/vault/vault-client.ts";
import { StoreLocation, type StoreKind } from "../test/support/vault/store-location.ts";
import { VaultServerProcess } from "../test/support/processes/vault-server-process.ts";
import type { Case } from "./measure.ts";
import { openRawCommits } from "./raw-commits.ts";

const CHEAP = { memoryKib: 8, passes: 1, lanes: 1 };
const HUGE = "huge@example.com";

async function addAccounts(data: string, emails: readonly string[]): Promise<string> {
  const password = randomBytes(12).toString("hex");
  await using store = await openStore(data);
  for (const email of emails) await addUser(store, email, new Redacted(password), Date.now(), CHEAP);
  return password;
}

function expectStatus(response: VaultResponse, status: number): void {
  if (response.status !== status)
    throw new Error(`expected status ${status}, received ${response.status}: ${response.bytes.toString().slice(0, 200)}`);
}

/** Starts a server with data and returns the cases to measure on it. */
export async function openVaultCases(options: {
  store: StoreKind;
  clients: number;
  longList: boolean;
}): Promise<AsyncDisposable & { cases: Case[] }> {
  await using owned = new AsyncDisposableStack();
  const place = owned.use(await StoreLocation.create(options.store));
  // An account each, because the rate of an account is limited.
  const emails = (name: string): string[] => Array.from({ length: options.clients }, (_, n) => `${name}-${n}@example.com`);
  const [smallEmails, largeEmails] = [emails("small"), emails("large")];
  const password = await addAccounts(place.data, [...smallEmails, ...largeEmails, HUGE]);
  const fill = async (owner: string, count: number): Promise<void> =>
    options.store === "sqlite"
      ? insertSecrets(place.data, owner, count, Date.now())
      : insertPostgresSecrets(place.data, owner, count, Date.now());
  for (const email of largeEmails) await fill(email, 10_000);
  if (options.longList) await fill(HUGE, 100_000);
  // --dev raises the rate limits. The values of the inserted secrets are not sealed; they are only listed.
  const server = owned.use(await VaultServerProcess.start(["--dev", "--allow-missing-keys", ...place.args]));
  const open = async (of: readonly string[]): Promise<VaultClient[]> => {
    const clients = of.map((email) => owned.use(new VaultClient(server.url, email, { keepAlive: true })));
    for (const client of clients) expectStatus(await client.logIn(password), 200);
    return clients;
  };
  const small = await open(smallEmails);
  const large = await open(largeEmails);
  const [huge] = await open([HUGE]);
  for (const [index, client] of small.entries())
    expectStatus(await client.call("protect", { key_name: `s${index}`, key_value: "v".repeat(64) }), 200);
  const tags: (string | undefined)[] = [];
  for (const client of large) tags.push((await client.call("list_no_dup")).headers.etag);
  const raw = owned.use(await openRawCommits(options.store, place.data));

  const each = (
    name: string,
    run: (worker: number) => Promise<VaultResponse>,
    more: Partial<Case> & { status?: number } = {},
  ): Case => ({
    name,
    baseline: "healthz",
    concurrency: options.clients,
    ...more,
    run: async (worker) => expectStatus(await run(worker), more.status ?? 200),
  });
  const cases = [
    each("healthz", (worker) => small[worker]!.send("/healthz", { method: "GET" })),
    each("expose", (worker) => small[worker]!.call("expose", { key_name: `s${worker}` })),
    { name: "raw commits", baseline: "raw commits", concurrency: options.store === "sqlite" ? 1 : 10, run: () => raw.commit() },
    each("protect", (worker) => small[worker]!.call("protect", { key_name: `s${worker}`, key_value: "v".repeat(64) }), {
      baseline: "raw commits",
    }),
    each("list 10,000, unchanged", (worker) => large[worker]!.call("list_no_dup", {}, { "if-none-match": tags[worker] }), {
      status: 304,
    }),
    each("list 10,000, one client", () => large[0]!.call("list_no_dup"), { concurrency: 1 }),
    each("list 10,000", (worker) => large[worker]!.call("list_no_dup")),
    ...(options.longList ? [each("list 100,000, one client", () => huge!.call("list_no_dup"), { concurrency: 1 })] : []),
  ];
  const running = owned.move();
  return { cases, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
