import { systemClock } from "../../lib/clock.ts";
import type { Store, Transaction } from "../server/store/store.ts";
import { openExistingStore } from "../server/store/open-store.ts";

export interface InventoryFlags {
  readonly data: string;
}

/** Entries of one transaction. */
const PAGE = 200;

type Line = Readonly<Record<string, unknown>>;

/** Returns what the records after `after` say, and the id of the last one. */
type ReadPage = (
  transaction: Transaction,
  after: string,
) => Promise<{ readonly lines: readonly Line[]; readonly last: string | undefined }>;

async function printAll(store: Store, page: ReadPage): Promise<void> {
  for (let after: string | undefined = ""; after !== undefined;) {
    const from: string = after;
    const { lines, last } = await store.read((transaction) => page(transaction, from));
    for (const line of lines) process.stdout.write(`${JSON.stringify(line)}\n`);
    after = last;
  }
}

const secretsOf =
  (owner: string, now: number): ReadPage =>
  async ({ handOver, secrets, grants }, after) => {
    const page = await handOver.secrets(owner, now, after, PAGE);
    const lines: Line[] = [];
    for (const { id, name } of page) {
      const latest = await secrets.latest(id);
      const sharedWith = (await grants.grantees(id)).map((grant) =>
        grant.kind === "person" ? grant.email : grant.groupId,
      );
      const { version, metadata = {} } = latest ?? {};
      lines.push({ kind: "secret", owner, name, version, metadata, shared_with: sharedWith });
    }
    return { lines, last: page.at(-1)?.id };
  };

const filesOf =
  (owner: string): ReadPage =>
  async ({ handOver, files }, after) => {
    const page = await handOver.files(owner, after, PAGE);
    const lines: Line[] = [];
    for (const { id, name } of page) {
      const latest = await files.latest(id);
      lines.push({ kind: "file", owner, name, version: latest?.version, size: latest?.size });
    }
    return { lines, last: page.at(-1)?.id };
  };

/**
 * Prints a JSON line for each account, team, secret and file of a store: what can be read without
 * its master key. Nothing of it is authenticated.
 */
export async function printInventory({ data }: InventoryFlags): Promise<void> {
  await using store = await openExistingStore(data);
  const now = systemClock.now();
  for (const { email } of await store.read(({ users }) => users.list())) {
    const teams = await store.read(({ teams: all }) => all.createdBy(email));
    process.stdout.write(`${JSON.stringify({ kind: "account", name: email, teams })}\n`);
    await printAll(store, secretsOf(email, now));
    await printAll(store, filesOf(email));
  }
}
