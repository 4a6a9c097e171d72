import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import {
  type ApiRemedies,
  explainDenied,
  explainProblem,
  kindOf,
  rankOf,
} from "./explain-problem.ts";
import {
  type FailedRequest,
  isDenied,
  type RequestProblems,
  type RequestSubject,
} from "./request-problems.ts";

export interface ApiProblemsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Host and port of the API server. */
  readonly host: string;
  readonly remedies: ApiRemedies;
}

/**
 * Time in milliseconds in which failures share one log line; a failure that ends sooner is not
 * logged.
 */
const GATHER_MS = 2_000;
/** Time in milliseconds after which a problem that persists is logged again. */
const REPEAT_MS = 600_000;

/** Orders failures by how much they explain: the first is the cause to name. */
const fromWorst = (a: FailedRequest, b: FailedRequest): number =>
  rankOf(a.error) - rankOf(b.error) || (a.subject.resource < b.subject.resource ? -1 : 1);

interface Logged {
  readonly kind: string;
  readonly at: number;
}

/**
 * The failing requests to the API server without which the operator cannot work, or cannot serve a
 * namespace. Most fail for one reason, and each is retried every few seconds. To keep that reason
 * visible in the log, all of them share one line with the words of the API server and the remedy;
 * the requests in denied namespaces share a second line.
 */
export class ApiProblems implements RequestProblems, Disposable {
  readonly #options: ApiProblemsOptions;
  readonly #failing = new Map<object, FailedRequest>();
  #timer: Timer | undefined;
  #logged: Logged | undefined;
  #loggedDenied: Logged | undefined;

  constructor(options: ApiProblemsOptions) {
    this.#options = options;
  }

  /** The problems and their remedies; `undefined` while nothing fails. */
  get text(): string | undefined {
    const texts = [this.#problem, this.#denial].filter((text) => text !== undefined);
    return texts.length === 0 ? undefined : texts.join("; ");
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  failed(request: object, subject: RequestSubject, error: unknown): void {
    this.#failing.set(request, { subject, error });
    this.#timer ??= this.#options.clock.timer(GATHER_MS, () => this.#log());
  }

  recovered(request: object): void {
    if (!this.#failing.delete(request)) return;
    const { logger, host } = this.#options;
    if (this.#logged !== undefined && this.#others.length === 0) {
      this.#logged = undefined;
      logger.info({ host }, "API server serves all requests again");
    }
    if (this.#loggedDenied !== undefined && this.#denied.length === 0) {
      this.#loggedDenied = undefined;
      logger.info({ host }, "API server denies no namespace any more");
    }
  }

  get #denied(): FailedRequest[] {
    return [...this.#failing.values()].filter(({ subject, error }) => isDenied(subject, error));
  }

  get #others(): FailedRequest[] {
    return [...this.#failing.values()].filter(({ subject, error }) => !isDenied(subject, error));
  }

  get #worst(): FailedRequest | undefined {
    return this.#others.sort(fromWorst)[0];
  }

  get #problem(): string | undefined {
    const worst = this.#worst;
    return worst && explainProblem(worst, this.#others, this.#options);
  }

  get #denial(): string | undefined {
    const denied = this.#denied;
    return denied.length === 0 ? undefined : explainDenied(denied, this.#options);
  }

  #log(): void {
    this.#timer = undefined;
    const { logger, host } = this.#options;
    const [worst, denied] = [this.#worst, this.#denied];
    if (worst !== undefined && this.#isDue(this.#logged, kindOf(worst.error))) {
      this.#logged = this.#now(kindOf(worst.error));
      logger.error(
        { host, count: this.#others.length, reason: this.#problem },
        "API server cannot be used, retrying",
      );
    }
    const names = [...new Set(denied.map(({ subject }) => subject.namespace ?? ""))].sort();
    if (names.length > 0 && this.#isDue(this.#loggedDenied, names.join())) {
      this.#loggedDenied = this.#now(names.join());
      logger.error(
        { host, count: names.length, reason: this.#denial },
        "namespaces cannot be served, retrying",
      );
    }
  }

  /**
   * Reports whether a problem is to be logged: it is of another kind than the last one, or
   * persists.
   */
  #isDue(logged: Logged | undefined, kind: string): boolean {
    return logged?.kind !== kind || this.#options.clock.monotonic() - logged.at >= REPEAT_MS;
  }

  #now(kind: string): Logged {
    return { kind, at: this.#options.clock.monotonic() };
  }
}
