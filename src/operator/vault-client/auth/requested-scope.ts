import { patternsIn } from "../pattern.ts";
import { type Scope, formatScope } from "../../../protocol/scope.ts";
import type { Clock } from "../../../lib/clock.ts";

/** Names that the resources refer to within this time share one login, in milliseconds. */
const NEW_NAMES_MS = 2_000;
/** Name in a scope that admits no secret, because a scope has to name at least one. */
const NO_NAME = "vaultsync.dev/none";

/** A scope as requested at a login. */
export interface TokenScope {
  readonly text: string;
  /** Names that the token can read; `undefined`: every name that the other attributes admit. */
  readonly names: ReadonlySet<string> | undefined;
}

/**
 * The scope that a connection requests: fixed, or limited to the names that its resources refer to.
 */
export class RequestedScope {
  readonly #scope: Scope;
  readonly #clock: Clock;
  #names: ReadonlySet<string> | undefined;
  #newNameAt = 0;

  /** @throws RangeError when the scope admits nothing */
  constructor(scope: Scope, onlyReferenced: boolean, clock: Clock) {
    this.#scope = scope;
    this.#clock = clock;
    if (onlyReferenced) this.#names = new Set();
    this.current();
  }

  /** Returns the scope to request now. */
  current(): TokenScope {
    const names = this.#names;
    // Which names a pattern will match is not known.
    if (names === undefined || patternsIn(names).length > 0)
      return { text: formatScope(this.#scope), names: undefined };
    return {
      text: formatScope({
        ...this.#scope,
        secret_name: names.size === 0 ? new Set([NO_NAME]) : names,
      }),
      names,
    };
  }

  /**
   * Replaces the referenced names. Returns the time in milliseconds until a login with a new one is
   * due, if there is one.
   */
  setNames(names: ReadonlySet<string>): number | undefined {
    const before = this.#names;
    if (before === undefined) return undefined;
    const isNew = !isSubset(names, before);
    this.#names = new Set(names);
    if (!isNew) return undefined;
    const now = this.#clock.monotonic();
    if (now >= this.#newNameAt) this.#newNameAt = now + NEW_NAMES_MS;
    return this.#newNameAt - now;
  }

  /**
   * Reports whether a token lacks a name, and the names that share its login had time to arrive.
   */
  isDue({ names }: TokenScope): boolean {
    return this.lacks(names) && this.#clock.monotonic() >= this.#newNameAt;
  }

  /** Reports whether a token of these names lacks one. */
  lacks(names: ReadonlySet<string> | undefined): boolean {
    return this.#names !== undefined && names !== undefined && !isSubset(this.#names, names);
  }
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((name) => all.has(name));
}
