import type { Watched } from "./kube/cache/filtered-view.ts";
import type { Reflector, ReflectorOptions } from "./kube/cache/reflector.ts";
import { isDenied, type RequestProblems, type RequestSubject } from "./kube/request-problems.ts";
import { createFreezeWatch } from "./reflectors.ts";
import type { Freeze } from "./sync/freeze.ts";

type FreezeWatchOptions = Pick<
  ReflectorOptions<Freeze>,
  "api" | "namespace" | "relistMs" | "clock" | "random" | "logger" | "problems"
>;

/**
 * Watches the ConfigMap of a freeze. No target is written before the API server has said whether
 * there is one. If it denies the list, that is reported, and there is none.
 */
export class FreezeWatch implements RequestProblems {
  readonly #reflector: Reflector<Freeze>;
  readonly #problems: RequestProblems | undefined;
  readonly #denied = Promise.withResolvers<void>();

  constructor(options: FreezeWatchOptions) {
    const { logger, problems } = options;
    this.#problems = problems;
    this.#reflector = createFreezeWatch({ ...options, problems: this });
    this.#reflector.onChange((change) => {
      const problem = change.type === "deleted" ? undefined : change.now.problem;
      if (problem !== undefined)
        logger.warn({ reason: problem }, "freeze cannot be parsed, freezing everything");
    });
  }

  get watched(): Watched<Freeze> {
    return this.#reflector;
  }

  /** Resolves when the freeze is known, or denied; rejects when `run` was stopped before. */
  get ready(): Promise<void> {
    return Promise.race([this.#reflector.synced, this.#denied.promise]);
  }

  /** Runs until the signal is aborted. Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  failed(request: object, subject: RequestSubject, error: unknown): void {
    // The operator need not serve its own namespace.
    const { resource, namespace: ownNamespace } = subject;
    this.#problems?.failed(request, { resource, ownNamespace }, error);
    if (isDenied(subject, error)) this.#denied.resolve();
  }

  recovered(request: object): void {
    this.#problems?.recovered(request);
  }
}
