import { createHash } from "node:crypto";

/**
 * Characters of a key: 96 bits rule out a collision. A collision would wake a waiting list once too
 * often.
 */
const KEY_LENGTH = 16;

/**
 * Returns the key under which changes of a subject are announced; it does not reveal the subject.
 */
export function subjectKey(subject: string): string {
  return createHash("sha256").update(subject).digest("base64url").slice(0, KEY_LENGTH);
}

/** Committed changes of lists and of credentials, announced by subject. */
export interface Changes {
  /** False while changes of other processes do not arrive: waiting for one makes no sense. */
  readonly available: boolean;
  /**
   * Calls `wake` after each committed change of one of these subjects, until disposed. `wake`
   * neither throws nor watches.
   */
  watch(subjects: readonly string[], wake: () => void): Disposable;
}

/** The watches of one process. */
export class ChangeFeed implements Changes {
  available = true;
  readonly #watches = new Map<string, Set<() => void>>();

  watch(subjects: readonly string[], wake: () => void): Disposable {
    const keys = subjects.map(subjectKey);
    // A separate function, because several watches may share `wake`.
    const own = (): void => wake();
    for (const key of keys) {
      const watching = this.#watches.get(key);
      if (watching) watching.add(own);
      else this.#watches.set(key, new Set([own]));
    }
    return { [Symbol.dispose]: () => this.#remove(keys, own) };
  }

  #remove(keys: readonly string[], wake: () => void): void {
    for (const key of keys) {
      const watching = this.#watches.get(key);
      watching?.delete(wake);
      if (watching?.size === 0) this.#watches.delete(key);
    }
  }

  /** Announces changes by the keys of their subjects. */
  publish(keys: Iterable<string>): void {
    for (const key of keys) for (const wake of this.#watches.get(key) ?? []) wake();
  }

  /** Wakes everything that waits, after a time in which changes could have been missed. */
  publishAll(): void {
    this.publish([...this.#watches.keys()]);
  }
}

/**
 * Subjects of changes. Subjects of lists are the keys of `list_revisions` too. Email addresses are
 * canonical.
 */
export const subjects = {
  /** The list of secrets of one user. */
  user: (email: string) => `person:${email}`,
  /** The lists of secrets of the members of one team. */
  team: (groupId: string) => `team:${groupId}`,
  /** The list of files of one user. */
  files: (email: string) => `files:${email}`,
  /** Tokens and sessions of one account that were ended before their time; has no revision. */
  credentials: (email: string) => `credentials:${email}`,
} as const;
