import { canariesIn } from "./simulated-values.ts";

/** The source of a value, and the versions that it has ever been. */
export interface Origin {
  readonly kind: "secret" | "file";
  readonly vault: string;
  readonly owner: string;
  readonly name: string;
  readonly versions: Set<number>;
  /** Time at which it was written, in monotonic milliseconds. */
  readonly at: number;
  /** Number of values that were written before: several may be written within one millisecond. */
  readonly order: number;
  /** The bytes of the value in base64. */
  readonly whole: string;
  /** The bytes in base64 of the parts of a value, by name: see `valueOf`. */
  readonly parts: ReadonlyMap<string, string>;
  /** The metadata that was listed with each of these versions; of a file: none. */
  readonly metadata: Readonly<Record<string, unknown>>[];
}

const isSamePlace = (a: Origin, b: Origin): boolean =>
  a.kind === b.kind && a.vault === b.vault && a.owner === b.owner && a.name === b.name;

/** Adds an origin. One of the same bytes and place has the versions, and the metadata, of both. */
function added<K>(all: Map<K, Origin[]>, key: K, origin: Origin): void {
  const known = all.get(key) ?? [];
  all.set(key, known);
  const same = known.find((one) => isSamePlace(one, origin));
  if (same === undefined) known.push(origin);
  else {
    for (const version of origin.versions) same.versions.add(version);
    same.metadata.push(...origin.metadata.filter((one) => !same.metadata.includes(one)));
  }
}

/**
 * The origins of all bytes that a vault has ever held. Bytes that a VaultPush has copied have
 * several: a check of a resource means the origin of an entry that the resource names.
 */
export class Origins {
  readonly #byBytes = new Map<string, Origin[]>();
  /** By the number of the value. */
  readonly #byNumber = new Map<number, Origin[]>();
  #meant: ReadonlySet<string> | undefined;

  /**
   * Takes in that a vault holds a value. In a loop, a template makes the bytes of the next version of
   * the present one: both have all versions that were made of one value.
   */
  add(origin: Origin, numbers: readonly number[] = [origin.order]): void {
    const same = numbers
      .flatMap((number) => this.#byNumber.get(number) ?? [])
      .find((one) => isSamePlace(one, origin));
    const shared = same === undefined ? origin : { ...origin, versions: same.versions };
    for (const version of origin.versions) shared.versions.add(version);
    for (const number of numbers) added(this.#byNumber, number, shared);
    for (const base64 of [origin.whole, ...origin.parts.values()])
      added(this.#byBytes, base64, shared);
  }

  /** Returns the origins of all values. */
  all(): Iterable<Origin> {
    return new Set([...this.#byBytes.values()].flat());
  }

  /** Calls a function that gets origins of entries with these names, if there are any. */
  meaning<T>(names: Iterable<string>, judge: () => T): T {
    const before = this.#meant;
    this.#meant = new Set(names);
    try {
      return judge();
    } finally {
      this.#meant = before;
    }
  }

  /** Returns the origin of bytes in base64, if a vault has ever held them. */
  of(base64: string): Origin | undefined {
    const all = this.#byBytes.get(base64) ?? [];
    const [exact] = this.#meantOf(all);
    if (exact === undefined || this.#isMeant(exact)) return exact;
    // A template has made the bytes of an entry that the resource names, before they were copied.
    const isMade = madeOf(base64).some((number) =>
      (this.#byNumber.get(number) ?? []).some((one) => this.#isMeant(one)),
    );
    return isMade ? undefined : exact;
  }

  /** Returns the origins of the values that these bytes are, or were made of. */
  in(base64: string): readonly Origin[] {
    const origin = this.of(base64);
    if (origin) return [origin];
    return madeOf(base64).flatMap((number) => this.#meantOf(this.#byNumber.get(number) ?? []));
  }

  #isMeant({ name }: Origin): boolean {
    return this.#meant?.has(name) ?? true;
  }

  /** Returns the origin that is meant, or else the first one. */
  #meantOf(all: readonly Origin[]): readonly Origin[] {
    const found = all.find((one) => this.#isMeant(one)) ?? all[0];
    return found === undefined ? [] : [found];
  }
}

const madeOf = (base64: string): readonly number[] => [
  ...new Set(canariesIn(Buffer.from(base64, "base64"))),
];
