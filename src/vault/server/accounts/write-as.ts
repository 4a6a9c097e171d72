import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { isLive } from "../store/credential.ts";
import type { Transaction, Writer } from "../store/store.ts";
import type { Caller } from "./authenticate.ts";

/**
 * Runs a write of an authenticated caller in one transaction. Its token or session is checked again
 * within it, so that nothing is written for a user who was disabled or deleted, or with a
 * credential that was revoked, since the request was authenticated.
 * @param ownerOf of `Writer`, when the write may change the data of another account
 * @throws ServiceError `invalid_token`, and whatever `work` throws
 */
export function writeAs<T>(
  { store, clock }: Pick<VaultContext, "store" | "clock">,
  { email, credential }: Caller,
  work: (transaction: Transaction) => Promise<T>,
  ownerOf?: Writer["ownerOf"],
): Promise<T> {
  const whileLive = async (transaction: Transaction): Promise<T> => {
    if (!(await isLive(transaction, credential, clock.now()))) throw errors.invalidAccessToken();
    return work(transaction);
  };
  return store.write(whileLive, { account: email, ownerOf });
}
