import type { AuditRule } from "../../protocol/define-operation.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import type { AuditFields } from "./audit-line.ts";
import type { AuditLog } from "./audit-log.ts";
import { boundedForStranger, describeRequest } from "./describe-request.ts";
import type { ServiceError } from "../errors.ts";

export interface Origin {
  readonly request: string;
  /** IP address of the client. */
  readonly client: string;
  readonly operation: string;
}

/** Audit log lines of one request: one before the effect of an operation that changes data, and one before every response. */
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

  /** Records the authenticated user by the canonical email. */
  identify(email: string): void {
    this.#who = email;
  }

  /** Adds the request's own fields that the operation records. */
  describeRequest(body: unknown): void {
    this.describe(describeRequest(body, ["email", ...this.#rule.fields]));
  }

  /** Adds fields that describe the request. */
  describe(about: AuditFields): void {
    this.#about = { ...this.#about, ...about };
  }

  /** Records the error of the response. */
  reject({ code, user }: ServiceError): void {
    this.#error = code;
    this.#who ??= user;
  }

  /** Omits the line of the outcome, which is part of a summary. */
  omit(): void {
    this.#ended = Promise.resolve();
  }

  /** Resolves when the line before the effect is on the disk, if the operation has one. */
  async begin(): Promise<void> {
    if (this.#rule.intent === "never") return;
    try {
      await this.#log.append(this.#line("begin", {}));
    } catch (error) {
      // The log counts rejected lines itself.
      this.#ended = Promise.resolve();
      throw error;
    }
  }

  /** Resolves when the outcome is on the disk. Further calls do nothing, even when the first one failed. */
  end(status: number): Promise<void> {
    if (this.#ended) return Promise.resolve();
    this.#ended = this.#log.append(this.#line("end", { status, error: this.#error ?? null }));
    return this.#ended;
  }

  #line(phase: "begin" | "end", outcome: AuditFields): AuditFields {
    const { email, result, ...about } = this.#who === undefined ? boundedForStranger(this.#about) : this.#about;
    const claimed = typeof email === "string" && canonicalEmail(email) !== this.#who ? { claimed: email } : {};
    return { ...this.#origin, phase, who: this.#who ?? null, ...claimed, about, result, ...outcome };
  }
}
