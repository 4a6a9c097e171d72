import type { ExposedSecret } from "../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { Envelope } from "../crypto/envelope.ts";
import type { Secret, SecretVersion } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import type { VaultContext } from "../context.ts";
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
async function findOwn(
  transaction: Transaction,
  caller: Caller,
  address: SecretAddress,
  now: number,
): Promise<Found | undefined> {
  if (address.family !== "unshared") return undefined;
  const own = await transaction.secrets.ownByName(caller.email, address.name, now);
  if (!own) return undefined;
  const { secret, latest } = pickSecret({ email: caller.email, accessible: [own.access] }, caller, address);
  return { secret, wanted: latest, envelope: own.value };
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
  const { secret, wanted, envelope } = await context.store.read(async (transaction) => {
    const own = version === undefined ? await findOwn(transaction, caller, address, now) : undefined;
    if (own) return own;
    const found = await findSecret(transaction, caller, address, now);
    requireRead(found);
    const chosen = version === undefined ? found.latest : await transaction.secrets.version(found.secret.id, version);
    const sealed = chosen && (await transaction.secrets.value(found.secret.id, chosen.version));
    if (!chosen || !sealed) throw errors.secretVersionNotFound();
    return { secret: found.secret, wanted: chosen, envelope: sealed };
  });
  if (context.expired === "deny" && isExpired(wanted, now)) {
    throw errors.secretExpired();
  }
  return exposedSecret(secret, wanted, openValue(context, secret, wanted.version, envelope), now);
}
