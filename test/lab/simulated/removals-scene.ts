import type {
  EntryKind,
  ListProgress,
  Snapshot,
} from "../../../src/operator/vault-client/connection.ts";
import type { Selection } from "../../../src/operator/controllers/connection/connection-users.ts";
import { BlastLimits } from "../../../src/operator/controllers/connection/blast-limit.ts";
import { Removals } from "../../../src/operator/controllers/connection/removals.ts";

import { ACCOUNT } from "./simulated-vault.ts";

export const INTERVAL = 60_000;
export const VAULT_URL = "https://vault.example.com";
/** The metadata that the rules of these tests request. */
export const RULE = "prod";

const NEVER: ListProgress = { lists: 0, at: 0, previousAt: -Infinity };

interface Listed {
  readonly afterMs?: number;
  readonly kind?: EntryKind;
  /** The shown names have the metadata of the rule. */
  readonly isProd?: boolean;
}

/** One vault, and the connections to it. */
export class RemovalsVault {
  readonly limits = new BlastLimits();
  now = 0;

  connection(
    options: Partial<Pick<RemovalsConnection, "intervalMs" | "wasHeld" | "url">> = {},
  ): RemovalsConnection {
    return new RemovalsConnection(this, options);
  }
}

/**
 * The lists of one connection, one per interval unless `afterMs` says otherwise, and the names that
 * disappear from them.
 */
export class RemovalsConnection {
  readonly intervalMs: number;
  readonly wasHeld: boolean;
  readonly url: string;
  readonly removals: Removals;
  readonly unreferenced = new Set<string>();
  readonly served = new Set<string>();
  /** Names whose bytes targets have, `<kind> <name>`: each listed one, unless it is taken out. */
  readonly bytes = new Set<string>();
  /**
   * Names whose keys no resource removes: `a` if it is missing, `a due` if the vault removed it at
   * its deadline.
   */
  readonly retained = new Set<string>();
  /** Deadlines that statuses show, by name; of an entry, by `<name> <owner>`. */
  readonly deadlines = new Map<string, number>();
  /** Names that the rule found before, as the targets show. */
  readonly claimed = new Set<string>();
  /** Targets by name; one of the same name unless given. */
  readonly targets = new Map<string, readonly string[]>();
  isStale = false;
  hasFiles = false;
  /** There are rules that request metadata. */
  hasRules = false;
  /** Names that became held because of other connections, and requests to list. */
  heldByOthers = 0;
  listedSoon = 0;
  readonly #vault: RemovalsVault;
  /** Names that an earlier process has seen missing. */
  readonly missing = new Set<string>();
  /** Names that an earlier process held. */
  readonly unconfirmed = new Set<string>();
  /** Owners of a listed secret; one unless given. */
  readonly owners = new Map<string, readonly string[]>();
  /** Entries whose bytes targets have while others of their names are listed: `<name> <owner>`. */
  readonly fed = new Set<string>();
  readonly #shown: Record<EntryKind, Map<string, boolean>> = { secret: new Map(), file: new Map() };
  readonly #progress: Record<EntryKind, ListProgress> = { secret: NEVER, file: NEVER };

  constructor(
    vault: RemovalsVault,
    { intervalMs = INTERVAL, wasHeld = false, url = VAULT_URL }: Partial<RemovalsConnection>,
  ) {
    this.#vault = vault;
    this.intervalMs = intervalMs;
    this.wasHeld = wasHeld;
    this.url = url;
    this.removals = new Removals({
      id: "connection",
      url,
      account: ACCOUNT,
      intervalMs,
      wasHeld,
      limits: vault.limits,
      facts: {
        isReferenced: (_, name, { owner } = {}) =>
          !this.unreferenced.has(name) && (owner === undefined || this.fed.has(`${name} ${owner}`)),
        hasReferences: (kind) => kind === "secret" || this.hasFiles,
        rulesOf: (_, name) =>
          this.hasRules
            ? [{ id: RULE, finds: (list) => list.secrets(name)[0]?.metadata["isProd"] === true }]
            : [],
        wasServed: (kind, name, { owner } = {}) =>
          owner === undefined
            ? this.served.has(`${kind} ${name}`)
            : this.fed.has(`${name} ${owner}`),
        wasMissing: (_, name) => this.missing.has(name),
        isUnconfirmed: (_, name) => this.unconfirmed.has(name),
        hasBytes: (kind, name) => this.bytes.has(`${kind} ${name}`),
        hasOwnBytes: (kind, name) => this.bytes.has(`${kind} ${name}`),
        removesBytes: (kind, name, isDue) =>
          this.bytes.has(`${kind} ${name}`) && this.#removes(name, isDue),
        ownersOf: (name) =>
          [...this.fed].flatMap((entry) =>
            entry.startsWith(`${name} `) ? entry.slice(name.length + 1) : [],
          ),
        deadlineOf: (_, name) => this.deadlines.get(name),
        removes: (_, name, isDue) => this.#removes(name, isDue),
        claimedBy: () => this.claimed,
        targetsOf: (_, name) => this.targets.get(name) ?? [name],
      },
      snapshot: () =>
        this.#progress.secret.lists + this.#progress.file.lists === 0
          ? undefined
          : this.#snapshot(),
      isStale: () => this.isStale,
      listSoon: () => void (this.listedSoon += 1),
      onHeld: () => void (this.heldByOthers += 1),
    });
  }

  /** The next list shows and lacks these names. Returns the number of names that are held then. */
  list(shown: readonly string[], lacking: readonly string[], options: Listed = {}): number {
    const { afterMs = this.intervalMs, kind = "secret", isProd = true } = options;
    this.#vault.now += afterMs;
    const { lists, at } = this.#progress[kind];
    this.#progress[kind] = {
      lists: lists + 1,
      at: this.#vault.now,
      previousAt: lists === 0 ? NEVER.previousAt : at,
    };
    for (const name of shown) {
      this.#shown[kind].set(name, isProd);
      this.bytes.add(`${kind} ${name}`);
    }
    for (const name of lacking) this.#shown[kind].delete(name);
    const [changed, none] = [new Set([...shown, ...lacking]), new Set<string>()];
    const change =
      kind === "secret" ? { secrets: changed, files: none } : { secrets: none, files: changed };
    // A list that changes nothing is not reported.
    if (changed.size > 0) this.removals.observe(this.#snapshot(), change);
    return this.removals.held;
  }

  untilProven(
    name: string,
    kind: EntryKind = "secret",
    selection?: Selection,
    hasBytes = false,
  ): number {
    return this.removals.untilProven(this.#snapshot(), kind, name, selection, hasBytes);
  }

  #removes(name: string, isDue: boolean): boolean {
    return !this.unreferenced.has(name) && !this.retained.has(isDue ? `${name} due` : name);
  }

  #snapshot(): Snapshot {
    const [progress, shown, deadlines, owners] = [
      { ...this.#progress },
      structuredClone(this.#shown),
      new Map(this.deadlines),
      new Map(this.owners),
    ];
    return {
      listedAt: progress.secret.at,
      listedAtMonotonic: progress.secret.at,
      secrets: (name: string) =>
        shown.secret.has(name)
          ? (owners.get(name) ?? [undefined]).map((owner) => ({
              owner,
              metadata: { isProd: shown.secret.get(name) },
              deleteAt: deadlines.get(`${name} ${owner}`) ?? deadlines.get(name),
            }))
          : [],
      file: (name: string) => (shown.file.has(name) ? {} : undefined),
      progress: (kind: EntryKind) =>
        kind === "file" && progress.file.lists === 0 ? undefined : progress[kind],
    } as unknown as Snapshot;
  }
}

/** Returns the only connection to a vault. */
export const alone = (): RemovalsConnection => new RemovalsVault().connection();
export const names = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => `n${n + from}`);

/** Returns the methods that most tests use, bound to the connection. */
export function methodsOf(one: RemovalsConnection) {
  return { one, list: one.list.bind(one), untilProven: one.untilProven.bind(one) };
}
