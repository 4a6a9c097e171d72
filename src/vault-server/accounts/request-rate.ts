import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

/** Counts a request of a valid token. @throws ServiceError `rate_limited` when it has sent too many */
export function takeTurn(context: VaultContext, digest: string): void {
  const wait = context.requestRate.take(digest);
  if (wait === 0) return;
  throw errors.tooManyRequests(wait * 1000);
}
