import { MAX_SCOPE_BYTES } from "../../../protocol/schemas/scope-string.ts";
import { type Scope, parseScope } from "../../../protocol/scope.ts";

/** Maximum number of parsed scopes; the oldest is dropped. */
const MAX_SCOPES = 500;

/**
 * Parses each scope string once while it is among the last 500, because every request needs the
 * scope of its token.
 */
export class ScopeCache {
  readonly #parsed = new Map<string, Scope>();

  /** @throws InvalidScopeError */
  parse(text: string): Scope {
    const known = this.#parsed.get(text);
    if (known) return known;
    const scope = parseScope(text);
    // Tokens of earlier versions may have longer scopes: caching these would make the memory of the
    // cache unbounded.
    if (text.length > MAX_SCOPE_BYTES) return scope;
    this.#parsed.set(text, scope);
    const [oldest] = this.#parsed.keys();
    if (this.#parsed.size > MAX_SCOPES && oldest !== undefined) this.#parsed.delete(oldest);
    return scope;
  }
}
