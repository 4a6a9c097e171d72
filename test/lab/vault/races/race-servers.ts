import { systemClock } from "../../../../src/lib/clock.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { VaultClient, type VaultResponse } from "../vault-client.ts";
import { UserManager } from "../../../../src/vault/server/accounts/manage-users.ts";
import type { Store } from "../../../../src/vault/server/store/store.ts";
import { VaultServerProcess } from "../../real/processes/vault-server-process.ts";
import { auditEntries } from "../audit-entries.ts";
import { addAccounts, type StoreLocation } from "../store-location.ts";

/** Time after a response that says nothing about a race, such as 429, in milliseconds. */
const REJECTED_MS = 20;

/**
 * A period in which nothing may succeed: from the acknowledgment of what forbids it, until what
 * permits it again is sent.
 */
export class Closed {
  #period: object | undefined;

  begin(): void {
    this.#period = {};
  }

  end(): void {
    this.#period = undefined;
  }

  /** Identifies the current period. */
  get period(): object | undefined {
    return this.#period;
  }
}

/** Counts and broken rules of a run of races. */
class RaceLedger {
  /** Number of requests and commands that succeeded, by race. */
  readonly counts: Record<string, number> = {};
  readonly violations: string[] = [];
  /** Number of values that were read, by operation and account. */
  readonly reads = new Map<string, number>();

  count(race: string): void {
    this.counts[race] = (this.counts[race] ?? 0) + 1;
  }

  violated(rule: string): void {
    if (!this.violations.includes(rule)) this.violations.push(rule);
  }

  /** Sends a request that must not succeed while `closed`. */
  async attempt(
    race: string,
    closed: Closed,
    request: () => Promise<VaultResponse>,
  ): Promise<VaultResponse> {
    const before = closed.period;
    const response = await request();
    if (response.status === 200) {
      this.count(race);
      if (before !== undefined && closed.period === before)
        this.violated(`${race}: a request succeeded that must not`);
    } else if (response.status !== 401) await sleep(REJECTED_MS);
    return response;
  }

  /** Reads a value, and counts it for the comparison with the audit log. */
  async read(
    client: VaultClient,
    operation: "expose" | "expose_link",
    key_name: string,
  ): Promise<VaultResponse> {
    const response = await client.call(operation, { key_name });
    const key = `${operation} ${client.email}`;
    if (response.status === 200) this.reads.set(key, (this.reads.get(key) ?? 0) + 1);
    return response;
  }
}

/** Servers on one store, as many accounts as races need, and what the races see. */
export class RaceServers implements AsyncDisposable {
  readonly ledger = new RaceLedger();
  readonly store: Store;
  readonly manager: UserManager;
  readonly urls: readonly string[];
  readonly #audits: readonly string[];
  readonly #owned: AsyncDisposableStack;
  readonly #stop: AbortSignal;

  private constructor(
    store: Store,
    servers: readonly VaultServerProcess[],
    audits: readonly string[],
    owned: AsyncDisposableStack,
    stop: AbortSignal,
  ) {
    this.store = store;
    this.manager = new UserManager(store, systemClock);
    this.urls = servers.map(({ url }) => url);
    this.#audits = audits;
    this.#owned = owned;
    this.#stop = stop;
  }

  /** @param audits files of the audit logs, one for each server */
  static async start(
    place: StoreLocation,
    audits: readonly string[],
    stop: AbortSignal,
  ): Promise<RaceServers> {
    await using owned = new AsyncDisposableStack();
    const store = owned.use(await place.open());
    const servers: VaultServerProcess[] = [];
    for (const audit of audits)
      servers.push(
        owned.use(await VaultServerProcess.start([...place.args, "--audit-log", audit])),
      );
    return new RaceServers(store, servers, audits, owned.move(), stop);
  }

  get stopped(): boolean {
    return this.#stop.aborted;
  }

  /** Creates an account whose password is its email. */
  async add(email: string): Promise<void> {
    await addAccounts(this.store, [email]);
  }

  /** Returns a client with a new login for each server. */
  async clients(email: string): Promise<VaultClient[]> {
    const first = new VaultClient(this.urls[0] ?? "", email, { keepAlive: true });
    const { status } = await first.logIn(email);
    if (status !== 200) throw new Error(`login of ${email}: expected 200, got ${status}`);
    return this.urls.map((url) => first.at(url));
  }

  /** Repeats `step` until the end of the run. */
  async repeat(step: (round: number) => Promise<unknown>): Promise<void> {
    for (let round = 0; !this.stopped; round += 1) await step(round);
  }

  /** Reports each value that was read without a line in the audit log. */
  async compareAudit(): Promise<void> {
    const lines = (await Promise.all(this.#audits.map((file) => auditEntries(file)))).flat();
    for (const [key, count] of this.ledger.reads) {
      const logged = lines.filter(
        (line) =>
          line.phase === "end" && `${line.operation} ${line.who}` === key && line.status === 200,
      ).length;
      if (logged < count)
        this.ledger.violated(`${key}: ${count} values were read, ${logged} are in the audit log`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
