import type { SecretRecord, SecretValue, Snapshot } from "../connection.ts";
import { PermanentError, UnexpectedResponse, type PermanentCode } from "../vault-error.ts";
import type { ExposeRoute, VaultApi } from "../vault-api.ts";

/** Errors that the other family of operations may not return, if the list does not say which family to use. */
const MAY_BE_THE_FAMILY: ReadonlySet<PermanentCode> = new Set([
  "secret_not_found",
  "not_found",
  "forbidden",
  "conflict",
  "invalid_request",
  "unsupported",
]);
/** Errors of a vault whose version operations do not return the latest version. */
const MAY_BE_THE_VERSION: ReadonlySet<PermanentCode> = new Set(["not_found", "conflict", "invalid_request", "unsupported"]);

export interface SecretReaderOptions {
  readonly api: VaultApi;
  /** Email address of the connection's account. */
  readonly email: string;
  readonly snapshot: () => Snapshot | undefined;
  /** Returns a snapshot whose list is requested after this call. @throws the error of that list */
  readonly listAgain: (signal: AbortSignal) => Promise<Snapshot | undefined>;
}

/** A value whose version is certain. */
export interface CertainValue extends SecretValue {
  /** The vault stated the version itself, so that the bytes may be cached under it. */
  readonly cacheable: boolean;
}

/**
 * Reads a value with the operation that returns it: own or shared, exact version or latest. Starts with the route that the list
 * suggests, tries alternatives by the errors, and remembers per name the route that worked
 * (docs/design/engine.md#own-and-shared-secrets).
 */
export class SecretReader {
  readonly #options: SecretReaderOptions;
  readonly #worked = new Map<string, ExposeRoute>();

  constructor(options: SecretReaderOptions) {
    this.#options = options;
  }

  /** @throws the VaultError of the first route when no route works */
  async read(record: SecretRecord, version: number, signal: AbortSignal): Promise<CertainValue> {
    const key = JSON.stringify([record.name, record.owner ?? null]);
    const worked = this.#worked.get(key);
    // A route to the latest version does not return any other version.
    const first = worked?.exact === false && version !== record.version ? { ...worked, exact: true } : worked;
    const routes: ExposeRoute[] = [first ?? this.#guess(record)];
    const failures: PermanentError[] = [];
    for (const route of routes) {
      try {
        const { labeled, ...value } = await this.#options.api.expose(route, record, version, signal);
        this.#worked.set(key, route);
        const cacheable = labeled || route.exact;
        if (!cacheable) await this.#confirm(record, version, signal);
        return { ...value, cacheable };
      } catch (error) {
        if (!(error instanceof PermanentError)) throw error;
        failures.push(error);
        routes.push(
          ...alternatives(route, record, version, error.code).filter((next) => !routes.some((tried) => equal(tried, next))),
        );
      }
    }
    throw failures[0] ?? new PermanentError("expose", "secret_not_found");
  }

  /**
   * The latest value without its version may be newer than the list. It is the listed version if a later list still shows it.
   * @throws UnexpectedResponse when the list shows another version
   */
  async #confirm(record: SecretRecord, version: number, signal: AbortSignal): Promise<void> {
    const records = (await this.#options.listAgain(signal))?.secrets(record.name) ?? [];
    const now = records.find(({ owner }) => owner === record.owner);
    if (now?.version !== version || now.createdAt !== record.createdAt) throw new UnexpectedResponse("expose", "key_version");
  }

  /** Forgets the routes of these names. */
  forget(names: ReadonlySet<string>): void {
    for (const key of this.#worked.keys()) {
      const [name]: unknown[] = JSON.parse(key);
      if (typeof name === "string" && names.has(name)) this.#worked.delete(key);
    }
  }

  #guess(record: SecretRecord): ExposeRoute {
    const { email, snapshot } = this.#options;
    const foreign = record.owner !== undefined && record.owner.toLowerCase() !== email.toLowerCase();
    const family = record.shared === true || foreign ? "link" : "own";
    const several = (snapshot()?.secrets(record.name).length ?? 0) > 1;
    return { family, exact: true, withOwner: family === "link" && several && record.owner !== undefined };
  }
}

/** Returns the routes to try after this error, best first. */
function alternatives(route: ExposeRoute, record: SecretRecord, version: number, code: PermanentCode): ExposeRoute[] {
  const ownerKnown = record.owner !== undefined;
  if (code === "use_link_operation") return [{ ...route, family: "link" }];
  if (code === "use_unshared_operation") return [{ ...route, family: "own", withOwner: false }];
  if (code === "ambiguous_name") return ownerKnown ? [{ ...route, withOwner: true }] : [];
  const found: ExposeRoute[] = [];
  if (route.exact && version === record.version && MAY_BE_THE_VERSION.has(code)) found.push({ ...route, exact: false });
  if (record.shared === undefined && MAY_BE_THE_FAMILY.has(code)) {
    found.push({ ...route, family: route.family === "own" ? "link" : "own", withOwner: false });
  }
  return found;
}

function equal(a: ExposeRoute, b: ExposeRoute): boolean {
  return a.family === b.family && a.exact === b.exact && a.withOwner === b.withOwner;
}
