import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";

/**
 * Returns a function that finds the creator of the secret that a request names, so that its write
 * waits for other writes of the creator's data; `undefined` when the caller has access to none or
 * to several of this name.
 */
export function ownerOf(
  { store, clock }: Pick<VaultContext, "store" | "clock">,
  caller: Caller,
  name: string,
  owner: string | undefined,
): () => Promise<string | undefined> {
  return async () => {
    // The owner that the request names is not believed: without access, a stranger could take the
    // turns of any account.
    const accessible = await store.readOne(({ secrets }) =>
      secrets.accessByName(caller.email, name, clock.now()),
    );
    const owners = accessible
      .map(({ secret }) => secret.owner)
      .filter((each) => owner === undefined || each === owner);
    return owners.length === 1 ? owners[0] : undefined;
  };
}
