import type { FastifyReply } from "fastify";
import type { VersionRecord } from "../../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import { requireRead } from "../access/permission.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { sendList } from "../http/etag.ts";
import { jsonList } from "../http/json-stream.ts";
import { findSecret, type SecretAddress } from "../secrets/find-secret.ts";
import { PageSize } from "./page-size.ts";
import { versionRecord } from "../secrets/secret-record.ts";

/** Maximum number of versions read in one transaction. */
const MAX_PAGE_SIZE = 16;

/** The secret whose versions are listed, up to a version. */
interface Listed {
  readonly id: string;
  readonly upTo: number;
  readonly now: number;
}

/**
 * Yields all versions up to `upTo` in ascending order. @throws ServiceError of `findSecret`;
 * `secret_not_found` when the name has become another secret; `forbidden` without R
 */
export async function* versionPages(
  { store }: Pick<VaultContext, "store">,
  caller: Caller,
  address: SecretAddress,
  { id, upTo, now }: Listed,
): AsyncGenerator<VersionRecord[], void> {
  const size = new PageSize(MAX_PAGE_SIZE);
  for (let after = 0; after < upTo;) {
    const from = after;
    const atMost = size.next;
    const page = await store.read(async (transaction) => {
      // Each time, because access may have ended since.
      const found = await findSecret(transaction, caller, address, now);
      if (found.secret.id !== id) throw errors.secretNotFound();
      requireRead(found);
      const versions = await transaction.secrets.versions(found.secret.id, from, atMost);
      return versions
        .filter(({ version }) => version <= upTo)
        .map((version) => versionRecord(found, version, now));
    }, partyOf(caller));
    yield page;
    size.seen(page.map(({ metadata }) => JSON.stringify(metadata).length));
    after = page.length < atMost ? upTo : (page.at(-1)?.key_version ?? upTo);
  }
}

/**
 * Responds with all versions in ascending order. @throws ServiceError of `findSecret`; `forbidden`
 * without R; `rate_limited`
 */
export async function respondWithVersions(
  context: VaultContext,
  caller: Caller,
  address: SecretAddress,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const now = context.clock.now();
  const { secret, latest } = await context.store.read(
    (transaction) => findSecret(transaction, caller, address, now),
    partyOf(caller),
  );
  const listed = { id: secret.id, upTo: latest.version, now };
  await context.openLists.enterStream(caller.email, reply);
  return sendList(context, reply, () =>
    chargedByLength(
      context,
      caller,
      jsonList(
        { key_name: address.name },
        "versions",
        versionPages(context, caller, address, listed),
      ),
    ),
  );
}
