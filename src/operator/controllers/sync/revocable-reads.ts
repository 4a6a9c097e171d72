import type { ReadyCondition } from "../../sync/ready-condition.ts";

/** The reason of aborted reads: the resource lost its access to the connection. */
export class AccessRevoked extends Error {
  override readonly name = "AccessRevoked";
  readonly condition: ReadyCondition;

  constructor(condition: ReadyCondition) {
    super("the access to the connection was revoked");
    this.condition = condition;
  }
}

/** The reads of the vault that are in progress, by resource. They may take long, and end when the resource loses its access. */
export class RevocableReads {
  readonly #reads = new Map<string, AbortController>();

  /** Calls `work` with a signal that is aborted with `signal`, and when the access of the resource is revoked. */
  async run<T>(key: string, signal: AbortSignal, work: (reads: AbortSignal) => Promise<T>): Promise<T> {
    const revoked = new AbortController();
    this.#reads.set(key, revoked);
    try {
      return await work(AbortSignal.any([signal, revoked.signal]));
    } finally {
      this.#reads.delete(key);
    }
  }

  revoke(key: string, condition: ReadyCondition): void {
    this.#reads.get(key)?.abort(new AccessRevoked(condition));
  }
}
