import type { AuditIntent, AuditRule } from "../../protocol/define-operation.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import type { AuditFields } from "./audit-line.ts";
import type { AuditLog } from "./audit-log.ts";
import { describeRequest } from "./describe-request.ts";
import type { ServiceError } from "../errors.ts";

export interface Origin {
  readonly request: string;
  /** Address on the network. */
  readonly client: string;
  readonly operation: string;
}

/** What one request leaves in the audit log: for what changes something a line before, and for each a line before its answer. */
export class AuditTrail {
  readonly #log: AuditLog;
  readonly #rule: AuditRule;
  readonly #origin: Origin;
  #who: string | undefined;
  #about: AuditFields = {};
  #error: string | undefined;
  #ended: Promise<void> | undefined;

  constructor(log: AuditLog, rule: AuditRule, origin: Origin) {
    this.#log = log;
    this.#rule = rule;
    this.#origin = origin;
  }

  /** The request is known to come from this account, by its canonical address. */
  identify(email: string): void {
    this.#who = email;
  }

  /** Adds the request's own fields that the operation records. */
  describeRequest(body: unknown): void {
    this.describe(describeRequest(body, ["email", ...this.#rule.fields]));
  }

  /** Adds to what the request is about. */
  describe(about: AuditFields): void {
    this.#about = { ...this.#about, ...about };
  }

  /** The answer is a refusal. */
  refuse({ code, user }: ServiceError): void {
    this.#error = code;
    this.#who ??= user;
  }

  /** The request is about to have an effect, as far as it got: resolves when the intent of an operation that has one now is on the disk. */
  async begin(stage: AuditIntent): Promise<void> {
    if (this.#rule.intent !== stage) return;
    try {
      await this.#log.append(this.#line("begin", {}));
    } catch (error) {
      // The refusal of what could not begin is counted by the log itself.
      this.#ended = Promise.resolve();
      throw error;
    }
  }

  /** Resolves when the outcome is on the disk; a second call changes nothing, also when the first one failed. */
  end(status: number): Promise<void> {
    if (this.#ended) return Promise.resolve();
    this.#ended = this.#log.append(this.#line("end", { status, error: this.#error ?? null }));
    return this.#ended;
  }

  #line(phase: "begin" | "end", outcome: AuditFields): AuditFields {
    const { email, result, ...about } = this.#about;
    const claimed = typeof email === "string" && canonicalEmail(email) !== this.#who ? { claimed: email } : {};
    return { ...this.#origin, phase, who: this.#who ?? null, ...claimed, about, result, ...outcome };
  }
}
