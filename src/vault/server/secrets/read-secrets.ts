import type { ExposedSecret } from "../../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import type { Envelope } from "../crypto/envelope.ts";
import type { Secret, SecretVersion } from "../store/records.ts";
import type { VaultContext } from "../context.ts";
import { authenticAccess } from "../access/pick-secret.ts";
import { requireRead } from "../access/permission.ts";
import { exposedSecret, isExpired } from "./secret-record.ts";
import { errors } from "../errors.ts";
import { findSecret, pickSecret, type SecretAddress } from "./find-secret.ts";
import { openValue } from "./secret-value.ts";
import type { FastifyReply } from "fastify";

interface Found {
  readonly secret: Secret;
  readonly wanted: SecretVersion;
  readonly envelope: Envelope;
}

/**
 * Returns the newest version of an own secret with one statement, or `undefined` when it takes
 * more. @throws ServiceError of `findSecret`
 */
async function findOwn(
  { store }: VaultContext,
  caller: Caller,
  address: SecretAddress,
  now: number,
): Promise<Found | undefined> {
  if (address.family !== "unshared") return undefined;
  const own = await store.readOne(
    ({ secrets }) => secrets.ownByName(caller.email, address.name, now),
    partyOf(caller),
  );
  if (!own) return undefined;
  const { secret, latest } = pickSecret(
    { email: caller.email, accessible: [own.access] },
    caller,
    address,
  );
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
    const found = authenticAccess(
      transaction,
      caller.email,
      await findSecret(transaction, caller, address, now),
    );
    requireRead(found);
    const chosen =
      version === undefined
        ? found.latest
        : await transaction.secrets.version(found.secret.id, version);
    const envelope = chosen && (await transaction.secrets.value(found.secret.id, chosen.version));
    if (!chosen || !envelope) throw errors.secretVersionNotFound();
    return { secret: found.secret, wanted: chosen, envelope };
  }, partyOf(caller));
}

/**
 * Returns the value of one version, by default the latest.
 * @throws ServiceError of `findSecret`; `forbidden` without R; `version_not_found`;
 * `secret_expired`
 */
async function expose(
  context: VaultContext,
  caller: Caller,
  address: SecretAddress,
  version?: number,
): Promise<ExposedSecret> {
  const now = context.clock.now();
  const own = version === undefined ? await findOwn(context, caller, address, now) : undefined;
  const { secret, wanted, envelope } =
    own ?? (await findAny(context, caller, address, version, now));
  if (context.expired === "deny" && isExpired(wanted, now)) {
    throw errors.secretExpired();
  }
  return exposedSecret(secret, wanted, openValue(context, secret, wanted.version, envelope), now);
}

/**
 * Size of a value up to which its response is not counted, because the operating system takes it
 * from the process.
 */
const SHORT_BYTES = 64 * 1024;

/**
 * Returns the value of one version for a response. The response counts among the open lists of the
 * account until it has been read.
 * @throws ServiceError of `expose`; `rate_limited` when the account has too many open
 */
export async function exposeInTurn(
  context: VaultContext,
  { caller, reply }: { readonly caller: Caller; readonly reply: FastifyReply },
  address: SecretAddress,
  version?: number,
): Promise<ExposedSecret> {
  const exposed = await expose(context, caller, address, version);
  const bytes = Buffer.byteLength(JSON.stringify(exposed.key_value));
  if (bytes <= SHORT_BYTES) return exposed;
  await context.openLists.enterStream(caller.email, reply, bytes);
  // Read again: a request that waits holds no value.
  return expose(context, caller, address, version);
}
