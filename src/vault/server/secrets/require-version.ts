import { errors } from "../errors.ts";
import type { SecretAccess } from "../store/records.ts";

/**
 * Requires that the latest version is the one that the caller knows, so that a change does not undo
 * one that the caller has not seen (docs/design/vault-contract.md#versions). 0 expects that there
 * is no secret; without a number there is no requirement.
 * @throws ServiceError `version_changed`; `secret_not_found` when a secret was expected
 */
export function requireVersion(
  found: Pick<SecretAccess, "latest"> | undefined,
  expected: number | undefined,
): void {
  const latest = found?.latest.version ?? 0;
  if (expected === undefined || expected === latest) return;
  if (!found) throw errors.secretNotFound();
  throw errors.versionChanged(`the latest version is ${latest}`);
}
