import { decodeJwt, errors as jose, type JWTPayload, jwtVerify } from "jose";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { errors } from "../errors.ts";
import type { Identity } from "../store/records.ts";
import { IssuerKeys, IssuerUnavailableError } from "./issuer-keys.ts";

/** Only algorithms with public keys. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
];
/** Difference of the clocks of issuer and server that is accepted, in seconds. */
const TOLERANCE_SECONDS = 30;
/** Longest lifetime of a token in seconds: a running workload gets no longer ones. */
const MAX_LIFETIME_SECONDS = 24 * 3600;
const MAX_SUBJECT_CHARACTERS = 1024;

/** An issuer whose tokens are accepted. */
export interface IssuerOptions {
  /** URL of the issuer, as its tokens name it. */
  readonly issuer: string;
  /** Path or URL of its JWKS. */
  readonly keys: string;
}

export interface IdentityOptions {
  readonly issuers: readonly IssuerOptions[];
  /** A token has to be for one of these: a token for another service is not accepted. */
  readonly audiences: readonly string[];
}

export type VerifiedIdentity = Pick<Identity, "issuer" | "subject">;

/** Returns the issuer that an unverified token names. */
function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

function verified({
  iss,
  sub = "",
  iat = 0,
  exp = Infinity,
}: JWTPayload): VerifiedIdentity | undefined {
  const isSubject = sub !== "" && sub.length <= MAX_SUBJECT_CHARACTERS && !/[\p{C}\s]/u.test(sub);
  return iss !== undefined && isSubject && exp - iat <= MAX_LIFETIME_SECONDS
    ? { issuer: iss, subject: sub }
    : undefined;
}

/** Verifies the tokens of the issuers that the operator of the server trusts. */
export class IdentityIssuers {
  readonly #keys: ReadonlyMap<string, IssuerKeys>;
  readonly #audiences: readonly string[];
  readonly #clock: Clock;

  constructor({ issuers, audiences }: IdentityOptions, clock: Clock, logger: Logger) {
    this.#keys = new Map(
      issuers.map(({ issuer, keys }) => [issuer, new IssuerKeys({ source: keys, clock, logger })]),
    );
    this.#audiences = audiences;
    this.#clock = clock;
  }

  /**
   * Returns whose token it is; `undefined` if it is not valid, for whatever reason. @throws
   * ServiceError `unavailable` when the keys of its issuer cannot be read
   */
  async verify(token: string): Promise<VerifiedIdentity | undefined> {
    const issuer = claimedIssuer(token);
    const keys = issuer === undefined ? undefined : this.#keys.get(issuer);
    if (issuer === undefined || keys === undefined) return undefined;
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        issuer,
        audience: [...this.#audiences],
        algorithms: ALGORITHMS,
        requiredClaims: ["sub", "exp", "iat"],
        clockTolerance: TOLERANCE_SECONDS,
        currentDate: new Date(this.#clock.now()),
      });
      return verified(payload);
    } catch (error) {
      if (error instanceof IssuerUnavailableError) throw errors.issuerUnavailable();
      if (error instanceof jose.JOSEError) return undefined;
      throw error;
    }
  }
}
