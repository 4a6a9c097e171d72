import { isKubeError } from "../kube-error.ts";
import type { LeaseOptions } from "./lease-options.ts";

/** Time in milliseconds after which a failure that persists is logged again. */
const REPEAT_MS = 600_000;

/** Logs why Leases cannot be taken. They are tried every two seconds, so a failure is logged when it differs from the last one. */
export class LeaseFailures {
  readonly #options: Pick<LeaseOptions, "clock" | "logger" | "namespace">;
  #logged: { readonly reason: string; readonly at: number } | undefined;

  constructor(options: Pick<LeaseOptions, "clock" | "logger" | "namespace">) {
    this.#options = options;
  }

  /** A lost race is not worth a log line: another process has the Lease. */
  report(lease: string, error: unknown): void {
    if (isKubeError(error, "Conflict", "AlreadyExists")) return;
    const { clock, logger, namespace } = this.#options;
    const reason = this.#reasonOf(error);
    const at = clock.monotonic();
    if (this.#logged?.reason === reason && at - this.#logged.at < REPEAT_MS) return;
    this.#logged = { reason, at };
    logger.error({ lease, namespace, reason }, "Lease cannot be acquired, retrying");
  }

  #reasonOf(error: unknown): string {
    const { namespace } = this.#options;
    if (!isKubeError(error)) return "no response of the API server in time";
    if (error.kind === "NotFound")
      return `the lease's namespace ${namespace} does not exist; create it with "kubectl create namespace ${namespace}"`;
    if (error.kind === "Forbidden")
      return `${error.explanation ?? error.message}; apply deploy/base/rbac.yaml, and run with its ServiceAccount`;
    return error.message;
  }
}
