import type { SecretRecord } from "../connection.ts";
import type { ExposeRoute } from "../vault-api.ts";
import type { PermanentCode } from "../vault-error.ts";

/**
 * Errors that the other family of operations may not return, if the list does not say which family
 * to use.
 */
const MAY_BE_THE_FAMILY: ReadonlySet<PermanentCode> = new Set([
  "secret_not_found",
  "not_found",
  "forbidden",
  "conflict",
  "invalid_request",
  "unsupported",
]);
/** Errors of a vault whose version operations do not return the latest version. */
const MAY_BE_THE_VERSION: ReadonlySet<PermanentCode> = new Set([
  "not_found",
  "conflict",
  "invalid_request",
  "unsupported",
]);

/**
 * Finds the operation that returns a value: own or shared, exact version or latest. Suggests the
 * route that worked for the name before, else the one that the list suggests
 * (docs/design/engine.md#own-and-shared-secrets).
 */
export class ExposeRoutes {
  readonly #email: string;
  readonly #worked = new Map<string, ExposeRoute>();

  /** @param email email address of the connection's account */
  constructor(email: string) {
    this.#email = email;
  }

  /** Returns the route to try first. `isAmbiguous`: several listed secrets have the name. */
  first(record: SecretRecord, version: number, isAmbiguous: boolean): ExposeRoute {
    const worked = this.#worked.get(keyOf(record));
    // A route to the latest version does not return any other version.
    if (worked !== undefined)
      return worked.exact || version === record.version ? worked : { ...worked, exact: true };
    const foreign =
      record.owner !== undefined && record.owner.toLowerCase() !== this.#email.toLowerCase();
    const family = record.shared === true || foreign ? "link" : "own";
    return {
      family,
      exact: true,
      withOwner: family === "link" && isAmbiguous && record.owner !== undefined,
    };
  }

  /** Remembers a route that worked where the first one did not. */
  worked(record: SecretRecord, route: ExposeRoute): void {
    this.#worked.set(keyOf(record), route);
  }

  /** Forgets the routes of these names. */
  forget(names: ReadonlySet<string>): void {
    for (const key of this.#worked.keys()) {
      const [name]: unknown[] = JSON.parse(key);
      if (typeof name === "string" && names.has(name)) this.#worked.delete(key);
    }
  }
}

const keyOf = ({ name, owner }: SecretRecord): string => JSON.stringify([name, owner ?? null]);

/** Returns the routes to try after a route failed with this code, best first. */
export function alternatives(
  route: ExposeRoute,
  record: SecretRecord,
  version: number,
  code: PermanentCode,
): readonly ExposeRoute[] {
  const ownerKnown = record.owner !== undefined;
  if (code === "use_link_operation") return [{ ...route, family: "link" }];
  if (code === "use_unshared_operation") return [{ ...route, family: "own", withOwner: false }];
  if (code === "ambiguous_name") return ownerKnown ? [{ ...route, withOwner: true }] : [];
  const found: ExposeRoute[] = [];
  if (route.exact && version === record.version && MAY_BE_THE_VERSION.has(code))
    found.push({ ...route, exact: false });
  if (record.shared === undefined && MAY_BE_THE_FAMILY.has(code)) {
    found.push({ ...route, family: route.family === "own" ? "link" : "own", withOwner: false });
  }
  return found;
}

export function isSameRoute(a: ExposeRoute, b: ExposeRoute): boolean {
  return a.family === b.family && a.exact === b.exact && a.withOwner === b.withOwner;
}
