import { tokenDigest } from "./opaque-token.ts";
import { provenDevice } from "./cookies.ts";
import type { VaultContext } from "../context.ts";
import type { Transaction } from "../store/store.ts";

/** The client of a login. */
export interface LoginClient {
  /** IP address. */
  readonly address: string;
  /** Device cookie of a browser. */
  readonly device?: string | undefined;
  /** `user-agent` header of a client of the API. */
  readonly userAgent?: string | undefined;
}

/** An account in a network. */
interface Place {
  /** Canonical email. */
  readonly email: string;
  readonly network: string;
}

/** The `user-agent` of a login is known in its network for 90 days, in milliseconds. */
const KNOWN_AGENT_MS = 90 * 24 * 3_600_000;
/**
 * Maximum number of known `user-agent`s of an account in a network; each new one replaces the
 * oldest.
 */
const KNOWN_AGENTS = 8;

/**
 * Prefix of the subjects of the known agents of an account in a network; no address contains a
 * space.
 */
function agentsOf({ email, network }: Place): string {
  return `agent:${email} ${network}`;
}

/** The operator names its version: an upgrade does not make it another client. */
const VERSION_OF_OPERATOR = /^(vaultsync)\/\S+$/u;

/** Returns the digest of a `user-agent`, of the operator without its version. */
function digestOf(userAgent: string): string {
  return tokenDigest(userAgent.replace(VERSION_OF_OPERATOR, "$1"));
}

function agentOf(place: Place, userAgent: string): string {
  return `${agentsOf(place)} ${digestOf(userAgent)}`;
}

/**
 * Returns the subject that counts the failed logins of a client by which the account has logged in
 * before: of a browser by its device cookie, in any network, and of a client of the API by its
 * `user-agent`, in a network of such a login. `undefined` for any other client.
 */
export async function knownClient(
  context: VaultContext,
  { users, loginFailures }: Transaction,
  place: Place,
  { device, userAgent }: LoginClient,
): Promise<string | undefined> {
  if (device !== undefined) {
    // The same work without an account.
    const user = (await users.find(place.email)) ?? { email: place.email, passwordHash: "" };
    const id = provenDevice(context, device, user);
    return id === undefined ? undefined : `client:${place.email} ${id}`;
  }
  if (userAgent === undefined) return undefined;
  const { count } = await loginFailures.since(agentOf(place, userAgent), context.clock.now());
  return count > 0 ? `client:${place.email} ${place.network} ${digestOf(userAgent)}` : undefined;
}

/** Makes the `user-agent` of a client known after a login. */
export async function rememberClient(
  { loginFailures }: Transaction,
  place: Place,
  { userAgent }: LoginClient,
  now: number,
): Promise<void> {
  if (userAgent === undefined) return;
  const agent = agentOf(place, userAgent);
  await loginFailures.clear(agent);
  await loginFailures.add(agent, now + KNOWN_AGENT_MS);
  await loginFailures.keepNewest(agentsOf(place), KNOWN_AGENTS);
}
