import type { FastifyReply, FastifyRequest } from "fastify";
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
import { consumerOf } from "../http/identify.ts";

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

interface Exposed {
  readonly secretId: string;
  readonly body: ExposedSecret;
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
): Promise<Exposed> {
  const now = context.clock.now();
  const own = version === undefined ? await findOwn(context, caller, address, now) : undefined;
  const { secret, wanted, envelope } =
    own ?? (await findAny(context, caller, address, version, now));
  if (context.expired === "deny" && isExpired(wanted, now)) {
    throw errors.secretExpired();
  }
  const value = openValue(context, secret, wanted.version, envelope);
  return { secretId: secret.id, body: exposedSecret(secret, wanted, value, now) };
}

/**
 * Size of a value up to which its response is not counted, because the operating system takes it
 * from the process.
 */
const SHORT_BYTES = 64 * 1024;

interface ReadRequest {
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/**
 * Returns the value of one version for a response. The response counts among the open lists of the
 * account until it has been read. Notes the resource that the request names.
 * @throws ServiceError of `expose`; `rate_limited` when the account has too many open
 */
export async function exposeInTurn(
  context: VaultContext,
  { caller, request, reply }: ReadRequest,
  address: SecretAddress,
  version?: number,
): Promise<ExposedSecret> {
  const consumer = consumerOf(request);
  const exposed = await exposeInMemory(context, { caller, reply }, address, version);
  const { secretId, body } = exposed;
  if (consumer !== undefined) {
    const read = { consumer, version: body.key_version, account: caller.email };
    context.consumerUses.note({ kind: "secret", entryId: secretId, ...read });
  }
  return body;
}

/** Returns the value of one version, a long one once the memory of the account allows it. */
async function exposeInMemory(
  context: VaultContext,
  { caller, reply }: Pick<ReadRequest, "caller" | "reply">,
  address: SecretAddress,
  version: number | undefined,
): Promise<Exposed> {
  const exposed = await expose(context, caller, address, version);
  const bytes = Buffer.byteLength(JSON.stringify(exposed.body.key_value));
  if (bytes <= SHORT_BYTES) return exposed;
  await context.openLists.enterStream(caller.email, reply, bytes);
  // Read again: a request that waits holds no value.
  return expose(context, caller, address, version);
}
