import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { VaultClient } from "./vault-client.ts";
import type { StoreLocation } from "./store-location.ts";
import { VaultServerProcess } from "../real/processes/vault-server-process.ts";
import { codeOf } from "../../../src/lib/errors.ts";
import { sha256 } from "./requests.ts";

/**
 * Writes of one client: acknowledged versions by number, and the writes in flight when the server
 * was killed.
 */
class Ledger {
  /** Resolves at the next acknowledgement. */
  next = Promise.withResolvers<void>();
  readonly secrets = new Map<string, Map<number, string>>();
  readonly files = new Map<string, Map<number, string>>();
  readonly unacknowledged = new Set<string>();

  send(kind: "secrets" | "files", name: string, what: string): void {
    if (!this[kind].has(name)) this[kind].set(name, new Map());
    this.unacknowledged.add(what);
  }

  acknowledge(kind: "secrets" | "files", name: string, version: number, what: string): void {
    const versions = this[kind].get(name);
    if (versions?.has(version) !== false)
      throw new Error(`version ${version} of ${name} was acknowledged twice`);
    versions.set(version, what);
    this.unacknowledged.delete(what);
    this.next.resolve();
  }
}

export interface KillRounds {
  readonly rounds: number;
  readonly acknowledgedSecrets: number;
  readonly acknowledgedFiles: number;
  /** Writes that were stored completely but never acknowledged. */
  readonly storedUnacknowledged: number;
}

/** Writes until the server is gone. */
async function write(client: VaultClient, ledger: Ledger): Promise<void> {
  for (let count = randomInt(5); ; count += 1) {
    const name = `${client.email.split("@", 1).join("")}-${count % 3}`;
    try {
      if (count % 5 === 4) {
        const bytes = randomBytes(randomInt(1, 600_000));
        ledger.send("files", name, sha256(bytes));
        const response = await client.upload([{ filename: name, bytes }]);
        if (response.status === 200)
          ledger.acknowledge("files", name, response.json().files[0].version, sha256(bytes));
      } else {
        const value = randomBytes(randomInt(1, 10_000)).toString("hex");
        ledger.send("secrets", name, value);
        const response = await client.call("protect", { key_name: name, key_value: value });
        if (response.status === 200)
          ledger.acknowledge("secrets", name, response.json().secret.key_version, value);
        else if (response.status === 429) await sleep(20);
        else throw new Error(`protect responded ${response.status}`);
      }
    } catch (error) {
      if (codeOf(error) !== undefined) return;
      throw error;
    }
  }
}

/**
 * Compares stored with sent versions. Returns the number of stored versions that were never
 * acknowledged.
 */
function compare(
  name: string,
  acknowledged: ReadonlyMap<number, string>,
  found: ReadonlyMap<number, string>,
  unacknowledged: Set<string>,
) {
  for (const [version, what] of acknowledged) {
    if (found.get(version) !== what)
      throw new Error(`version ${version} of ${name} was acknowledged but is missing or altered`);
  }
  const others = [...found].filter(([version]) => !acknowledged.has(version));
  for (const [version, what] of others)
    if (!unacknowledged.has(what)) throw new Error(`version ${version} of ${name} is torn`);
  return others.length;
}

/** Repeats a request while it is rate-limited. */
async function retryRateLimited(
  send: () => ReturnType<VaultClient["call"]>,
): ReturnType<VaultClient["call"]> {
  for (;;) {
    const response = await send();
    if (response.status !== 429) return response;
    await sleep(100);
  }
}

async function verify(client: VaultClient, ledger: Ledger): Promise<number> {
  let kept = 0;
  for (const [name, acknowledged] of ledger.secrets) {
    // Missing when no version was committed; acknowledged versions must exist.
    const { versions = [] } = (
      await retryRateLimited(() => client.call("version_list", { key_name: name }))
    ).json();
    const found = new Map<number, string>();
    for (const { key_version } of versions) {
      const exposed = await retryRateLimited(() =>
        client.call("version_expose", { key_name: name, key_version }),
      );
      found.set(key_version, exposed.json().key_value);
    }
    if (found.size !== versions.length) throw new Error(`a version of ${name} is listed twice`);
    kept += compare(name, acknowledged, found, ledger.unacknowledged);
  }
  for (const [filename, acknowledged] of ledger.files) {
    const { files } = (await retryRateLimited(() => client.call("list_file"))).json();
    const found = new Map<number, string>();
    const file = files.find((each: { filename: string }) => each.filename === filename);
    for (const { version } of file?.versions ?? []) {
      const { bytes } = await retryRateLimited(() =>
        client.call("download_file", { filename, version }),
      );
      found.set(version, sha256(bytes));
    }
    kept += compare(filename, acknowledged, found, ledger.unacknowledged);
  }
  return kept;
}

/** Removes verified secrets and files: the next rounds do not verify them again. */
async function clear(client: VaultClient, ledger: Ledger): Promise<void> {
  for (const key_name of ledger.secrets.keys())
    await retryRateLimited(() => client.call("delete", { key_name }));
  await retryRateLimited(() => client.call("delete_all_files"));
  ledger.secrets.clear();
  ledger.files.clear();
  ledger.unacknowledged.clear();
}

async function addWriters(
  place: StoreLocation,
  count: number,
): Promise<{ email: string; password: string }[]> {
  const password = randomBytes(12).toString("hex");
  const writers = Array.from({ length: count }, (_, index) => ({
    email: `w${index}-${randomBytes(4).toString("hex")}@example.com`,
    password,
  }));
  await place.addAccounts(
    writers.map(({ email }) => email),
    password,
  );
  return writers;
}

/**
 * Repeatedly kills the server with SIGKILL at a random time under parallel writers, restarts it and
 * verifies all data. Data is cleared every fifth round only: rounds continue with it.
 * @throws Error when a write is lost, torn or numbered twice
 */
export async function killRounds(
  place: StoreLocation,
  {
    rounds,
    writers = 8,
    onRound = () => undefined,
  }: { rounds: number; writers?: number; onRound?: (round: number) => void },
): Promise<KillRounds> {
  const sums = { acknowledgedSecrets: 0, acknowledgedFiles: 0, storedUnacknowledged: 0 };
  const accounts = await addWriters(place, writers);
  let server = await VaultServerProcess.start(place.args);
  try {
    let clients = accounts.map(
      ({ email }) => new VaultClient(server.url, email, { keepAlive: true }),
    );
    for (const [index, client] of clients.entries()) await client.logIn(accounts[index]!.password);
    const ledgers = clients.map(() => new Ledger());
    const count = (kind: "secrets" | "files") =>
      ledgers
        .flatMap((ledger) => [...ledger[kind].values()])
        .reduce((sum, { size }) => sum + size, 0);
    for (let round = 1; round <= rounds; round += 1) {
      const before = [count("secrets"), count("files")] as const;
      for (const ledger of ledgers) ledger.next = Promise.withResolvers();
      const writing = Promise.all(clients.map((client, index) => write(client, ledgers[index]!)));
      await Promise.race(ledgers.map((ledger) => ledger.next.promise));
      await sleep(randomInt(600));
      await server.stop("SIGKILL");
      await writing;
      sums.acknowledgedSecrets += count("secrets") - before[0];
      sums.acknowledgedFiles += count("files") - before[1];
      server = await VaultServerProcess.start(place.args);
      clients = clients.map((client) => client.at(server.url));
      const kept = await Promise.all(
        clients.map((client, index) => verify(client, ledgers[index]!)),
      );
      if (round % 5 === 0 || round === rounds) {
        sums.storedUnacknowledged += kept.reduce((sum, each) => sum + each, 0);
        await Promise.all(clients.map((client, index) => clear(client, ledgers[index]!)));
      }
      onRound(round);
    }
    return { rounds, ...sums };
  } finally {
    await server.stop("SIGKILL");
  }
}
