import { readFile } from "node:fs/promises";
import { createLocalJWKSet, errors as jose, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { jsonOrUndefined } from "../../../lib/json-or-undefined.ts";
import { isObject } from "../../../lib/is-object.ts";
import { messageOf } from "../../../lib/errors.ts";

/** Age in milliseconds after which keys are read again: a rotation is noticed. */
const FRESH_MS = 5 * 60_000;
/** Age in milliseconds after which keys that cannot be read again are no longer used. */
const USABLE_MS = 60 * 60_000;
/** Minimum interval of reads in milliseconds, whatever keys the tokens of strangers name. */
const INTERVAL_MS = 10_000;
/** Time in milliseconds for one read. */
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 * 1024;

/** The keys of an issuer cannot be read: nothing is known about its tokens. */
export class IssuerUnavailableError extends Error {
  override readonly name = "IssuerUnavailableError";
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Reports whether keys are read from a URL, not from a file. */
export const isUrl = (source: string): boolean => /^https?:\/\//u.test(source);

/** Reports whether a value is a set of keys, of at least one. */
function isKeySet(value: unknown): value is JSONWebKeySet {
  return (
    isObject(value) &&
    Array.isArray(value["keys"]) &&
    value["keys"].length > 0 &&
    value["keys"].every(isObject)
  );
}

/**
 * Reads a JWKS from a file or URL. @throws Error when it cannot be read, or has no keys
 */
export async function readKeySet(source: string): Promise<JSONWebKeySet> {
  const text = isUrl(source) ? await fetchText(source) : await readFile(source, "utf8");
  const keys = jsonOrUndefined(text);
  if (!isKeySet(keys)) throw new Error('expected a JWKS: a JSON object with "keys"');
  return keys;
}

export interface IssuerKeysOptions {
  /** Path or URL of a JWKS. */
  readonly source: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly read?: (source: string) => Promise<JSONWebKeySet>;
}

/**
 * The public keys of one issuer: read again after five minutes, and when a token names another key,
 * at most every ten seconds. While they cannot be read, the last ones are used for an hour.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: { readonly find: JWTVerifyGetKey; readonly at: number } | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** Returns the key that a token names. @throws IssuerUnavailableError; JOSEError for no key */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    await this.#readOlderThan(FRESH_MS);
    try {
      return await this.#current(header, token);
    } catch (error) {
      if (!(error instanceof jose.JWKSNoMatchingKey)) throw error;
      await this.#readOlderThan(0);
      return this.#current(header, token);
    }
  };

  readonly #current: JWTVerifyGetKey = async (header, token) => {
    if (this.#keys === undefined || this.#age() > USABLE_MS) throw new IssuerUnavailableError();
    return this.#keys.find(header, token);
  };

  #age(): number {
    return this.#options.clock.monotonic() - (this.#keys?.at ?? Number.NEGATIVE_INFINITY);
  }

  async #readOlderThan(ageMs: number): Promise<void> {
    if (this.#age() <= ageMs) return;
    if (
      this.#reading === undefined &&
      this.#options.clock.monotonic() - this.#triedAt < INTERVAL_MS
    )
      return;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { source, clock, logger, read = readKeySet } = this.#options;
    this.#triedAt = clock.monotonic();
    try {
      this.#keys = { find: createLocalJWKSet(await read(source)), at: clock.monotonic() };
    } catch (error) {
      const reason = messageOf(error);
      logger.warn(
        { event: "issuer_keys_unreadable", source, reason },
        "keys of an issuer not read",
      );
    }
  }
}
