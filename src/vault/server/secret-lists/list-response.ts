import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { isKnown, knownTags } from "../http/etag.ts";
import type { Transaction } from "../store/store.ts";
import type { ListState } from "../protection/waiting-lists.ts";
import type { ListRenderings, StreamedList } from "./list-renderings.ts";
import type { ListValidityCache } from "./list-validity-cache.ts";
import { acceptedEncoding } from "../http/accepted-encoding.ts";
import { PIECE_LENGTH, readInTime } from "../http/read-in-time.ts";
import type { SharedList } from "./shared-list.ts";
import { formatScope } from "../../../protocol/scope.ts";
import { subjects } from "../store/change-feed.ts";

/** Length from which lists are compressed (docs/design/vault-contract.md#compression). */
const COMPRESSED_LENGTH = 1024;

/** Owner of a list, and its entity tag. */
interface Sent {
  readonly email: string;
  readonly etag: string;
}

/**
 * Sends a list, compressed by gzip when the client accepts it. A list that responses share is
 * compressed once for all of them.
 * @throws ServiceError `rate_limited`
 */
async function sendOpenedList(
  context: VaultContext,
  reply: FastifyReply,
  list: SharedList | StreamedList,
  { email, etag }: Sent,
): Promise<FastifyReply> {
  const gzips = acceptedEncoding(reply.request.headers, ["gzip"]) !== undefined;
  const head = (): FastifyReply =>
    reply.type("application/json; charset=utf-8").headers({ vary: "accept-encoding", etag });
  if (list.kind === "streamed") {
    head();
    const body = Readable.from(readInTime(context, reply, list.pieces), { highWaterMark: 1 });
    if (!gzips) return reply.send(body);
    // A failure destroys the last stream as well and so closes the connection.
    const compressed = pipeline(body, createGzip(), () => undefined);
    return reply.header("content-encoding", "gzip").send(compressed);
  }
  const compressed =
    gzips && list.length >= COMPRESSED_LENGTH ? await list.compressed() : undefined;
  const pieces = compressed ? [compressed] : list.pieces;
  const length = compressed?.length ?? list.length;
  // Before the headers: a rejection does not have them.
  if (length > PIECE_LENGTH) await context.listResponses.enter(email, reply);
  head();
  if (compressed) reply.header("content-encoding", "gzip");
  if (length <= PIECE_LENGTH) return reply.send(Buffer.concat(pieces));
  reply.header("content-length", String(length));
  return reply.send(Readable.from(readInTime(context, reply, pieces), { highWaterMark: 1 }));
}

/**
 * Returns the part of a list's entity tag that depends on the user, the scope and the revision of
 * the list.
 */
function digestOf({ email, scope }: Caller, revision: string): string {
  return createHash("sha256")
    .update(JSON.stringify([email, formatScope(scope), revision]))
    .digest("base64url");
}

/** Returns the entity tag of a list at a time. */
function tagOf(timestamp: number, digest: string): string {
  return `W/"${timestamp}-${digest}"`;
}

/** Returns the timestamp of a tag; `*` matches the current list. */
function timestampOf(tag: string, current: number): number {
  return tag === "*" ? current : Number(/^"([0-9]+(?:\.[0-9]+)?)-/u.exec(tag)?.[1] ?? Number.NaN);
}

interface ListRequest {
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/**
 * Returns the tag of the client that the list of this revision still has, without reading secrets.
 */
function sameTag(
  { caller, request }: ListRequest,
  validity: ListValidityCache,
  revision: string,
  asOf: number,
): string | undefined {
  const { email } = caller;
  const digest = digestOf(caller, revision);
  return knownTags(request)
    .map((tag) => timestampOf(tag, validity.since(email, revision, asOf)))
    .filter((timestamp) => validity.isSame(email, revision, timestamp, asOf))
    .map((timestamp) => tagOf(timestamp, digest))
    .find((tag) => isKnown(request, tag));
}

/**
 * Responds to `list_no_dup`. An unchanged list is recognized by its revision, without reading
 * secrets: a list is polled far more often than it changes. A client that prefers to wait gets the
 * response when its list changes.
 * @throws ServiceError `invalid_token` when the token or session ends while the list waits;
 * `rate_limited`
 */
export async function respondWithList(
  context: VaultContext,
  validity: ListValidityCache,
  renderings: ListRenderings,
  list: ListRequest,
): Promise<FastifyReply> {
  const { caller, reply } = list;
  reply.header("cache-control", "private, no-cache");
  const read = async ({
    listRevisions,
  }: Transaction): Promise<ListState & { readonly revision: string }> => {
    const { revision, subjects: watched } = await listRevisions.of(caller.email);
    const now = context.clock.now();
    return {
      revision,
      sameTag: sameTag(list, validity, revision, now),
      subjects: watched,
      until: validity.until(caller.email, revision, now),
    };
  };
  const settled = await context.waiting.settle({
    caller,
    reply,
    subject: subjects.user(caller.email),
    read,
  });
  if (settled.sameTag !== undefined)
    return reply.header("etag", settled.sameTag).status(304).send();
  const opened = await renderings.open(caller, settled.revision, reply);
  const { revision, now: from } = opened;
  const etag = tagOf(validity.since(caller.email, revision, from), digestOf(caller, revision));
  return sendOpenedList(context, reply, opened, { email: caller.email, etag });
}
