import type { AuditRule } from "../../../protocol/define-operation.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import type { AuditBudget } from "./audit-budget.ts";
import { lineBytes, type AuditFields } from "./audit-line.ts";
import type { AuditLog } from "./audit-log.ts";
import {
  boundedForStranger,
  describeRequest,
  inBrief,
  inFull,
  type BoundedFields,
  resultOf,
} from "./describe-request.ts";
import type { ServiceError } from "../errors.ts";

export interface Origin {
  readonly request: string;
  /** IP address of the client. */
  readonly client: string;
  readonly operation: string;
}

/** The operation of a request. */
export interface AuditedOperation {
  readonly audit: AuditRule;
  readonly freesSpace?: true;
}

/**
 * Audit log lines of one request: one before the effect of an operation that changes data, and one
 * before every response. Their bytes are charged to the account of the request.
 */
export class AuditTrail {
  readonly #log: AuditLog;
  readonly #budget: AuditBudget;
  readonly #operation: AuditedOperation;
  readonly #origin: Origin;
  #who: string | undefined;
  /**
   * The account that pays for the lines; also of a rejection before the caller is authenticated.
   */
  #account: string | undefined;
  #about: AuditFields = {};
  #result: AuditFields = {};
  #error: string | undefined;
  /** A valid token from a network that it is not for; its user does not pay for the line. */
  #denied: ServiceError["denied"];
  /** Lists that the line before the effect has cut; `undefined` without such a line. */
  #first: { readonly cut: readonly string[] } | undefined;
  #ended: Promise<void> | undefined;

  constructor(log: AuditLog, budget: AuditBudget, operation: AuditedOperation, origin: Origin) {
    this.#log = log;
    this.#budget = budget;
    this.#operation = operation;
    this.#origin = origin;
  }

  /**
   * Records the authenticated user by the canonical email, who pays for the lines.
   * @throws ServiceError `rate_limited` when the account has used up its share of the log
   */
  identify(email: string): void {
    this.#who = email;
    this.#account = email;
    this.#budget.admit(email, this.#operation.freesSpace === true);
  }

  /** Adds the request's own fields that the operation records. */
  describeRequest(body: unknown): void {
    this.#about = {
      ...this.#about,
      ...describeRequest(body, ["email", ...this.#operation.audit.fields]),
    };
  }

  /** Adds what the server knows about the caller, and what the client names itself. */
  describeCaller(caller: AuditFields): void {
    this.#about = { ...this.#about, ...caller };
  }

  /** Adds the result of the operation, as its response names it. */
  describeResponse(response: unknown): void {
    this.#result = resultOf(response);
  }

  /** Records the error of the response. */
  reject({ code, user, denied }: ServiceError): void {
    this.#error = code;
    this.#denied = denied;
    this.#who ??= user;
    this.#account ??= user;
  }

  /**
   * Charges the line of a rejection to the account whose credentials the request has. `limited`:
   * the account sends such requests beyond a rate. Then, or when it has used up its share of the
   * log, the request is part of a summary instead, unless it has a line already.
   */
  chargeRejection(account: string, limited: boolean): void {
    this.#account = account;
    if (this.#first) return;
    const affords =
      this.#who === undefined ? this.#budget.affords(account) : !this.#budget.isSpent(account);
    if (affords && !limited) return;
    this.#budget.omit(account);
    this.omit();
  }

  /** Omits the line of the outcome: a summary includes it. */
  omit(): void {
    this.#ended = Promise.resolve();
  }

  /** Resolves when the line before the effect is on the disk, if the operation has one. */
  async begin(): Promise<void> {
    if (this.#operation.audit.intent === "never") return;
    const { about, cut } = this.#bounded(inBrief);
    try {
      await this.#append({ ...this.#identity("begin", about), about: withoutEmail(about) });
      this.#first = { cut };
    } catch (error) {
      // The log counts rejected lines itself.
      this.#ended = Promise.resolve();
      throw error;
    }
  }

  /**
   * Resolves when the outcome is on the disk. Further calls do nothing, even when the first one
   * failed.
   */
  end(status: number): Promise<void> {
    if (this.#ended) return Promise.resolve();
    const { freesSpace } = this.#operation;
    if (freesSpace === true && status >= 400 && this.#who !== undefined && this.#first)
      this.#budget.rejected(this.#who);
    this.#ended = this.#append(this.#outcome(status));
    return this.#ended;
  }

  #append(fields: AuditFields): Promise<void> {
    if (this.#account !== undefined) this.#budget.charge(this.#account, lineBytes(fields));
    return this.#log.append(fields);
  }

  #outcome(status: number): AuditFields {
    const outcome = {
      ...this.#result,
      status,
      error: this.#error ?? null,
      ...(this.#denied && { denied: this.#denied }),
    };
    if (this.#first) {
      const rest = status < 400 ? this.#rest(this.#first.cut) : {};
      return {
        ...this.#identity(
          "end",
          this.#who === undefined ? boundedForStranger(this.#about) : this.#about,
        ),
        ...rest,
        ...outcome,
      };
    }
    const { about } = this.#bounded(status < 400 ? inFull : inBrief);
    return { ...this.#identity("end", about), about: withoutEmail(about), ...outcome };
  }

  #bounded(boundLists: (fields: AuditFields) => BoundedFields): BoundedFields {
    return this.#who === undefined
      ? { about: boundedForStranger(this.#about), cut: [] }
      : boundLists(this.#about);
  }

  /** Returns what the line before the effect has cut. */
  #rest(cut: readonly string[]): AuditFields {
    if (cut.length === 0) return {};
    return {
      about: inFull(Object.fromEntries(cut.map((name) => [name, this.#about[name]]))).about,
    };
  }

  #identity(phase: "begin" | "end", { email }: AuditFields): AuditFields {
    const claimed =
      typeof email === "string" && canonicalEmail(email) !== this.#who ? { claimed: email } : {};
    return { ...this.#origin, phase, who: this.#who ?? null, ...claimed };
  }
}

function withoutEmail({ email: _email, ...about }: AuditFields): AuditFields {
  return about;
}
