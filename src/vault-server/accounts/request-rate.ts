import type { VaultContext } from "../context.ts";
import { ServiceError } from "../errors.ts";

/** Counts a request of a valid token. @throws ServiceError `rate_limited` when it has sent too many */
export function takeTurn(context: VaultContext, digest: string): void {
  const wait = context.requestRate.take(digest);
  if (wait === 0) return;
  throw new ServiceError("rate_limited", "too many requests with this token: slow down", { retryAfter: Math.ceil(wait) });
}
