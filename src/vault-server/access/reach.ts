import type { Metadata } from "../../protocol/metadata.ts";
import { scopeReaches } from "../../protocol/parse-scope.ts";
import type { Scope } from "../../protocol/scope.ts";
import { ServiceError } from "../errors.ts";

export function outOfScope(): ServiceError {
  return new ServiceError("out_of_scope", "the token's scope does not include this secret");
}

/** @throws ServiceError `out_of_scope` unless the scope includes a secret of this name whose latest version has this metadata */
export function requireReach(scope: Scope, name: string, latest: Metadata): void {
  if (!scopeReaches(scope, name, latest)) throw outOfScope();
}
