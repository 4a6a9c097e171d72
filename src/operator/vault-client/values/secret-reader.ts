import type { SecretRecord, SecretValue, Snapshot } from "../connection.ts";
import { PermanentError, type PermanentCode } from "../vault-error.ts";
import type { ExposeRoute, VaultApi } from "../vault-api.ts";

/** Refusals that the other family, or asking for the latest, may not meet, where the list does not say how to ask. */
const MAY_BE_THE_ROUTE: ReadonlySet<PermanentCode> = new Set([
  "secret_not_found",
  "not_found",
  "forbidden",
  "conflict",
  "invalid_request",
  "unsupported",
]);
/** Refusals by a vault whose version operations do not serve the latest version. */
const MAY_BE_THE_VERSION: ReadonlySet<PermanentCode> = new Set(["not_found", "conflict", "invalid_request", "unsupported"]);

export interface SecretReaderOptions {
  readonly api: VaultApi;
  /** Who the connection logs in as. */
  readonly email: string;
  readonly snapshot: () => Snapshot | undefined;
}

/**
 * Reads values by whichever operation serves them: own or shared, exact version or latest. Starts with what the list says, goes by
 * the refusals, and remembers per name what worked (design: engine, "Own or shared").
 */
export class SecretReader {
  readonly #options: SecretReaderOptions;
  readonly #worked = new Map<string, ExposeRoute>();

  constructor(options: SecretReaderOptions) {
    this.#options = options;
  }

  /** @throws the VaultError of the first route, when none of them leads there */
  async read(record: SecretRecord, version: number, signal: AbortSignal): Promise<SecretValue> {
    const key = JSON.stringify([record.name, record.owner ?? null]);
    const worked = this.#worked.get(key);
    // A way found for the latest version serves no other one.
    const first = worked?.exact === false && version !== record.version ? { ...worked, exact: true } : worked;
    const routes: ExposeRoute[] = [first ?? this.#guess(record)];
    const refusals: PermanentError[] = [];
    for (const route of routes) {
      try {
        const value = await this.#options.api.expose(route, record, version, signal);
        this.#worked.set(key, route);
        return value;
      } catch (error) {
        if (!(error instanceof PermanentError)) throw error;
        refusals.push(error);
        routes.push(
          ...alternatives(route, record, version, error.code).filter((next) => !routes.some((tried) => equal(tried, next))),
        );
      }
    }
    throw refusals[0] ?? new PermanentError("expose", "secret_not_found");
  }

  /** What was learned about these names no longer holds. */
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

/** Where else to ask after this refusal, best first. */
function alternatives(route: ExposeRoute, record: SecretRecord, version: number, code: PermanentCode): ExposeRoute[] {
  const ownerKnown = record.owner !== undefined;
  if (code === "use_link_operation") return [{ ...route, family: "link" }];
  if (code === "use_unshared_operation") return [{ ...route, family: "own", withOwner: false }];
  if (code === "ambiguous_name") return ownerKnown ? [{ ...route, withOwner: true }] : [];
  const found: ExposeRoute[] = [];
  if (route.exact && version === record.version && MAY_BE_THE_VERSION.has(code)) found.push({ ...route, exact: false });
  if (record.shared === undefined && MAY_BE_THE_ROUTE.has(code)) {
    found.push({ ...route, family: route.family === "own" ? "link" : "own", withOwner: false });
  }
  return found;
}

function equal(a: ExposeRoute, b: ExposeRoute): boolean {
  return a.family === b.family && a.exact === b.exact && a.withOwner === b.withOwner;
}
