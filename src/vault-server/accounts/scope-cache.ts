import { parseScope } from "../../protocol/parse-scope.ts";
import type { Scope } from "../../protocol/scope.ts";

/** Maximum number of parsed scopes; the oldest is dropped. */
const MAX_SCOPES = 500;
/** Maximum length of a remembered scope, in characters; tokens of earlier versions may have a longer one. */
const MAX_LENGTH = 8192;

/** Parses each scope string once while it is among the last 500, because every request needs the scope of its token. */
export class ScopeCache {
  readonly #parsed = new Map<string, Scope>();

  /** @throws InvalidScopeError */
  parse(text: string): Scope {
    const known = this.#parsed.get(text);
    if (known) return known;
    const scope = parseScope(text);
    if (text.length > MAX_LENGTH) return scope;
    this.#parsed.set(text, scope);
    const [oldest] = this.#parsed.keys();
    if (this.#parsed.size > MAX_SCOPES && oldest !== undefined) this.#parsed.delete(oldest);
    return scope;
  }
}
