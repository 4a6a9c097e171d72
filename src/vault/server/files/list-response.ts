import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { FileRecord, FileVersionRecord } from "../../../protocol/responses.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { eachPage } from "../store/all-pages.ts";
import { partyOf } from "../store/credential.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { isKnown } from "../http/etag.ts";
import { nestedJsonList, type NestedItem, sendJson } from "../http/json-stream.ts";
import { timestamp } from "../http/timestamp.ts";
import type { Transaction } from "../store/store.ts";
import type { ListedVersion } from "../store/tables/file-table.ts";
import type { ListState } from "../protection/waiting-lists.ts";
import { openDigest } from "./blob.ts";
import { subjects } from "../store/change-feed.ts";

/** Versions read in one transaction: the digest of each is decrypted. */
const PAGE_SIZE = 200;

/** Returns the entity tag of a list with a revision. Until it has one, the list does not change. */
function tagOf(email: string, revision: string | undefined): string {
  const digest = createHash("sha256").update(JSON.stringify([email, revision ?? ""]));
  return `W/"${digest.digest("base64url")}"`;
}

function itemOf(context: VaultContext, { file, version }: ListedVersion): NestedItem {
  const item: FileVersionRecord = {
    version: version.version,
    size: version.size,
    sha256: openDigest(context, file, version).sha256,
    created_at: timestamp(version.createdAt),
  };
  const fields: Omit<FileRecord, "versions"> = { filename: file.name, ...item };
  return { key: file.id, item, fields };
}

/**
 * Yields all versions of a user's files, by name in code point order, then by number. @throws
 * ServiceError `unavailable` when the file at the end of a page is gone before the next page
 */
export async function* listedPages(
  { store }: Pick<VaultContext, "store">,
  caller: Caller,
): AsyncGenerator<readonly ListedVersion[], void> {
  yield* eachPage(PAGE_SIZE, (after: ListedVersion | undefined) =>
    store.read(async ({ files }) => {
      // The next page would lack its last versions, or begin with another file's.
      if (after && (await files.find(caller.email, after.file.name))?.id !== after.file.id)
        throw errors.listChanged();
      return files.list(caller.email, after, PAGE_SIZE);
    }, partyOf(caller)),
  );
}

async function* filePages(
  context: VaultContext,
  caller: Caller,
): AsyncGenerator<NestedItem[], void> {
  for await (const page of listedPages(context, caller))
    yield page.map((listed) => itemOf(context, listed));
}

/**
 * Responds to `list_file`. An unchanged list is recognized by its revision, without reading files.
 * A client that prefers to wait gets the response when its list changes.
 * @throws ServiceError `invalid_token` when the token or session ends while the list waits;
 * `rate_limited`
 */
export async function respondWithFiles(
  context: VaultContext,
  caller: Caller,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { email } = caller;
  const { request } = reply;
  reply.header("cache-control", "private, no-cache");
  const read = async ({
    listRevisions,
  }: Transaction): Promise<ListState & { readonly tag: string }> => {
    const tag = tagOf(email, await listRevisions.ofFiles(email));
    return {
      tag,
      sameTag: isKnown(request, tag) ? tag : undefined,
      subjects: [subjects.files(email)],
      until: Infinity,
    };
  };
  // A change after this gives the list another tag: the client requests it again.
  const { tag, sameTag } = await context.waiting.settle({
    caller,
    reply,
    subject: subjects.files(email),
    read,
  });
  reply.header("etag", tag);
  if (sameTag !== undefined) return reply.status(304).send();
  await context.openLists.enterStream(caller.email, reply);
  return sendJson(
    context,
    reply,
    chargedByLength(
      context,
      caller,
      nestedJsonList("files", "versions", filePages(context, caller)),
    ),
  );
}
