import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { KubeError } from "../kube-error.ts";

export interface WatchProblemsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Host and port of the API server. */
  readonly host: string;
}

interface Failure {
  readonly resource: string;
  readonly error: unknown;
}

/** Time in milliseconds in which failures share one log line; a failure that ends sooner is not logged. */
const GATHER_MS = 2_000;
/** Time in milliseconds after which a problem that persists is logged again. */
const REPEAT_MS = 600_000;
/** Number of resources in a message. */
const NAMED = 3;

/** Names of our own resources. */
const OWN = /^(cluster)?vault/u;
const TLS = /CERT|^UNABLE_TO_|SELF_SIGNED|^ERR_TLS|^ERR_SSL|^EPROTO$/u;

/**
 * The lists and watches of the API server that fail now. They fail for one reason, mostly, and are tried again every few seconds: so that
 * this reason can be found in the log, all of them share one line, with the words of the API server and the remedy.
 */
export class WatchProblems implements Disposable {
  readonly #options: WatchProblemsOptions;
  readonly #failing = new Map<object, Failure>();
  #timer: Timer | undefined;
  #logged: { readonly kind: string; readonly at: number } | undefined;

  constructor(options: WatchProblemsOptions) {
    this.#options = options;
  }

  /** The problem and its remedy; `undefined` while nothing fails. */
  get text(): string | undefined {
    const worst = this.#worst;
    return worst && problemText(worst, [...this.#failing.values()], this.#options.host);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  /** Takes in that a list or watch of a resource failed. */
  failed(watch: object, resource: string, error: unknown): void {
    this.#failing.set(watch, { resource, error });
    this.#timer ??= this.#options.clock.timer(GATHER_MS, () => this.#log());
  }

  recovered(watch: object): void {
    if (!this.#failing.delete(watch) || this.#failing.size > 0 || this.#logged === undefined) return;
    this.#logged = undefined;
    this.#options.logger.info({ host: this.#options.host }, "API server serves all lists and watches again");
  }

  get #worst(): Failure | undefined {
    return [...this.#failing.values()].sort((a, b) => rank(a.error) - rank(b.error) || (a.resource < b.resource ? -1 : 1))[0];
  }

  /** Logs the problem once, and again if it becomes one of another kind, or persists. */
  #log(): void {
    this.#timer = undefined;
    const { clock, logger, host } = this.#options;
    const worst = this.#worst;
    if (worst === undefined) return;
    const [kind, at] = [kindOf(worst.error), clock.monotonic()];
    if (this.#logged?.kind === kind && at - this.#logged.at < REPEAT_MS) return;
    this.#logged = { kind, at };
    logger.error({ host, count: this.#failing.size, reason: this.text }, "API server cannot be used, retrying");
  }
}

/** Kinds of failures, from the one that explains the others. */
const severity = ["NotServed", "Unauthorized", "Forbidden", "Unavailable", "Timeout"];

const kindOf = (error: unknown): string => (error instanceof KubeError ? error.kind : "");
const rank = (error: unknown): number => [...severity, kindOf(error)].indexOf(kindOf(error));

function problemText({ error }: Failure, failing: readonly Failure[], host: string): string {
  if (!(error instanceof KubeError)) return `the API server ${host} cannot be used: unexpected response`;
  const alike = failing.filter((other) => kindOf(other.error) === error.kind).map(({ resource }) => resource);
  return explain(error, host, [...new Set(alike)].sort());
}

function explain(error: KubeError, host: string, resources: readonly string[]): string {
  const { kind, reason, explanation } = error;
  const more = resources.length > NAMED ? ` and ${resources.length - NAMED} more` : "";
  const names = resources.slice(0, NAMED).join(", ") + more;
  const words = explanation === undefined ? "" : ` ("${explanation}")`;
  switch (kind) {
    case "NotServed":
      return `the API server ${host} does not serve ${names}: ${resources.some((one) => OWN.test(one)) ? 'install the CRDs with "kubectl apply -k crds"' : "install its CRD"}`;
    case "Unauthorized":
      return reason === "CredentialsUnreadable"
        ? `the credentials for the API server ${host} cannot be read: check the kubeconfig and its plugins`
        : `the API server ${host} rejects the credentials${words}: renew the token or certificate in the kubeconfig`;
    case "Forbidden":
      return `the API server ${host} denies lists of ${names}: ${explanation ?? error.operation}. Apply deploy/base/rbac.yaml, and run with its ServiceAccount`;
    case "Timeout":
      return `the API server ${host} does not respond in time: check the network and its load`;
    case "Unavailable":
      return unavailable(host, error);
    default:
      return `the API server ${host} cannot be used: ${error.message}`;
  }
}

function unavailable(host: string, { reason, message }: KubeError): string {
  if (TLS.test(reason))
    return `the certificate of the API server ${host} is not trusted (${reason}): check certificate-authority in the kubeconfig`;
  if (reason === "ECONNREFUSED")
    return `nothing listens at the API server's address ${host} (${reason}): check server in the kubeconfig`;
  if (reason === "ENOTFOUND" || reason === "EAI_AGAIN")
    return `the host of the API server ${host} has no address (${reason}): check server in the kubeconfig`;
  return `the API server ${host} is not available: ${message}`;
}
