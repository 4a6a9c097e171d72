import type { Party, Transaction } from "./store.ts";

/** The access token or session that authenticated a request. */
export interface Credential {
  readonly kind: "token" | "session";
  readonly digest: string;
  /**
   * Digest of the login that a token, and possibly further tokens, come from; for a session, its
   * own digest.
   */
  readonly login: string;
  /** Wall-clock time. A session that is used ends later. */
  readonly expiresAt: number;
}

/**
 * Returns the account, the login and the networks of a token or session, or `undefined` when it has
 * ended.
 */
export async function findLive(
  { tokens, sessions }: Transaction,
  { kind, digest }: Pick<Credential, "kind" | "digest">,
  now: number,
): Promise<
  | { readonly email: string; readonly login: string; readonly allowedNetworks: readonly string[] }
  | undefined
> {
  const token = kind === "token" ? await tokens.findAccess(digest) : undefined;
  const stored = kind === "token" ? token : await sessions.find(digest);
  if (stored === undefined || stored.expiresAt <= now) return undefined;
  return {
    email: stored.email,
    login: token?.refreshDigest ?? digest,
    allowedNetworks: token?.allowedNetworks ?? [],
  };
}

/** Reports whether a token or session has not been ended since it authenticated a request. */
export async function isLive(
  transaction: Transaction,
  credential: Pick<Credential, "kind" | "digest">,
  now: number,
): Promise<boolean> {
  return (await findLive(transaction, credential, now)) !== undefined;
}

/** Returns the party that reads and writes for a caller. */
export function partyOf(caller: {
  readonly email: string;
  readonly credential: Credential;
}): Party {
  return { account: caller.email, login: caller.credential.login };
}
