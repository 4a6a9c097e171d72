import type { Caller } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import { pickLinked, pickUnshared, type Candidates } from "../access/pick-secret.ts";
import { requireReach } from "../access/permission.ts";
import type { NamedAccess } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import type { VaultContext } from "../context.ts";
import { ServiceError } from "../errors.ts";

/**
 * A secret as addressed by a request: the caller's own unshared secret, or a shared one, with its
 * owner where names are ambiguous.
 */
export type SecretAddress =
  | { readonly family: "unshared"; readonly name: string }
  | { readonly family: "link"; readonly name: string; readonly owner: string | undefined };

/** Returns all secrets of this name the caller has access to. */
export async function candidates(
  { secrets }: Transaction,
  caller: Caller,
  name: string,
  now: number,
): Promise<Candidates> {
  return { email: caller.email, accessible: await secrets.accessByName(caller.email, name, now) };
}

/**
 * Returns the caller's own secret of this name alone, if there is one, for operations to which
 * further ones do not matter; else all of this name.
 */
export async function ownCandidates(
  transaction: Transaction,
  caller: Caller,
  name: string,
  now: number,
): Promise<Candidates> {
  const own = await transaction.secrets.ownAccess(caller.email, name, now);
  return own
    ? { email: caller.email, accessible: [own] }
    : candidates(transaction, caller, name, now);
}

/**
 * Picks the addressed secret.
 * @throws ServiceError `secret_not_found`, `use_link_operation`, `use_unshared_operation`,
 * `ambiguous_name`, then `out_of_scope`
 */
export function pickSecret(
  found: Candidates,
  { scope }: Caller,
  address: SecretAddress,
): NamedAccess {
  const picked = address.family === "link" ? pickLinked(found, address.owner) : pickUnshared(found);
  requireReach(scope, address.name, picked.latest.metadata);
  return picked;
}

/** @throws ServiceError of `pickSecret` */
export async function findSecret(
  transaction: Transaction,
  caller: Caller,
  address: SecretAddress,
  now: number,
): Promise<NamedAccess> {
  const find = address.family === "link" ? candidates : ownCandidates;
  return pickSecret(await find(transaction, caller, address.name, now), caller, address);
}

/**
 * Returns a function that finds the creator of the secret that a request names: the write of the
 * request waits for other writes of the creator's data. The function returns `undefined` when the
 * caller has access to none or to several of this name.
 */
export function ownerOf(
  { store, clock }: Pick<VaultContext, "store" | "clock">,
  caller: Caller,
  name: string,
  owner: string | undefined,
): () => Promise<string | undefined> {
  return async () => {
    // Does not trust the owner that the request names: without access, a stranger could take the
    // turns of any account.
    const accessible = await store.readOne(
      ({ secrets }) => secrets.accessByName(caller.email, name, clock.now()),
      partyOf(caller),
    );
    const owners = accessible
      .map(({ secret }) => secret.owner)
      .filter((each) => owner === undefined || each === owner);
    return owners.length === 1 ? owners[0] : undefined;
  };
}

/**
 * Runs `work` once per distinct name, in order; `details` of a ServiceError then name the index in
 * `key_name`.
 */
export async function forEachUniqueName<T>(
  names: readonly string[],
  work: (name: string, index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  const done = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (done.has(name)) continue;
    done.add(name);
    try {
      results.push(await work(name, index));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const details = [{ path: `key_name.${index}`, reason: error.message }];
      throw new ServiceError(error.code, error.message, { details });
    }
  }
  return results;
}
