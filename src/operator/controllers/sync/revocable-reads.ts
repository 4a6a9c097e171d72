import { connectionKey } from "../../api/connection-key.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";

/** The reason of aborted reads: they were allowed by an access that has changed. */
export class AccessChanged extends Error {
  override readonly name = "AccessChanged";

  constructor() {
    super("the access of the namespace changed while values were read");
  }
}

interface Reads {
  readonly connection: string;
  readonly namespace: string;
  readonly ended: AbortController;
}

/**
 * The reads of the vault that are in progress through connections of the cluster. They may take
 * long, and end when the access that allowed them changes: only the reconcile itself knows what it
 * reads, such as the names of an earlier spec.
 */
export class RevocableReads {
  readonly #reads = new Set<Reads>();

  /** Calls `work` with a signal that is aborted with `signal`, and when the access changes. */
  async run<T>(
    resource: SyncResource,
    signal: AbortSignal,
    work: (reads: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { connection, namespace } = resource;
    const reads = {
      connection: connectionKey(connection, namespace),
      namespace,
      ended: new AbortController(),
    };
    this.#reads.add(reads);
    try {
      return await work(AbortSignal.any([signal, reads.ended.signal]));
    } finally {
      this.#reads.delete(reads);
    }
  }

  /** Ends the reads through a connection: the reads of one namespace, or all. */
  end(connection: string, namespace: string | undefined): void {
    for (const reads of this.#reads) {
      const isOfNamespace = namespace === undefined || reads.namespace === namespace;
      if (reads.connection === connection && isOfNamespace) reads.ended.abort(new AccessChanged());
    }
  }
}
