import type { ExposedSecret } from "../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { Envelope } from "../crypto/envelope.ts";
import type { Secret, SecretVersion } from "../store/records.ts";
import type { VaultContext } from "../context.ts";
import { authenticAccess } from "../access/authentic-access.ts";
import { requireRead } from "../access/permission.ts";
import { exposedSecret, isExpired } from "./secret-record.ts";
import { errors } from "../errors.ts";
import { findSecret, pickSecret, type SecretAddress } from "./find-secret.ts";
import { openValue } from "./secret-value.ts";

interface Found {
  readonly secret: Secret;
  readonly wanted: SecretVersion;
  readonly envelope: Envelope;
}

/** Returns the newest version of an own secret with one statement, or `undefined` when it takes more. @throws ServiceError of `findSecret` */
async function findOwn({ store }: VaultContext, caller: Caller, address: SecretAddress, now: number): Promise<Found | undefined> {
  if (address.family !== "unshared") return undefined;
  const own = await store.readOne(({ secrets }) => secrets.ownByName(caller.email, address.name, now));
  if (!own) return undefined;
  const { secret, latest } = pickSecret({ email: caller.email, accessible: [own.access] }, caller, address);
  return { secret, wanted: latest, envelope: own.value };
}

/** @throws ServiceError of `findSecret`; `forbidden` without R; `version_not_found` */
function findAny(
  { store }: VaultContext,
  caller: Caller,
  address: SecretAddress,
  version: number | undefined,
  now: number,
): Promise<Found> {
  return store.read(async (transaction) => {
    const found = await authenticAccess(transaction, caller.email, await findSecret(transaction, caller, address, now));
    requireRead(found);
    const chosen = version === undefined ? found.latest : await transaction.secrets.version(found.secret.id, version);
    const envelope = chosen && (await transaction.secrets.value(found.secret.id, chosen.version));
    if (!chosen || !envelope) throw errors.secretVersionNotFound();
    return { secret: found.secret, wanted: chosen, envelope };
  });
}

/**
 * Returns the value of one version, by default the latest.
 * @throws ServiceError of `findSecret`; `forbidden` without R; `version_not_found`; `secret_expired`
 */
export async function expose(
  context: VaultContext,
  caller: Caller,
  address: SecretAddress,
  version?: number,
): Promise<ExposedSecret> {
  const now = context.clock.now();
  const own = version === undefined ? await findOwn(context, caller, address, now) : undefined;
  const { secret, wanted, envelope } = own ?? (await findAny(context, caller, address, version, now));
  if (context.expired === "deny" && isExpired(wanted, now)) {
    throw errors.secretExpired();
  }
  return exposedSecret(secret, wanted, openValue(context, secret, wanted.version, envelope), now);
}
