import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { formatScope } from "../../protocol/format-scope.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { isKnown, knownTags } from "../http/etag.ts";
import { sendJson } from "../http/json-stream.ts";
import { jsonOf, openList } from "./list-secrets.ts";
import type { ListValidityCache } from "./list-validity-cache.ts";

/** Returns the part of a list's entity tag that depends on the user, the scope and the revision of the list. */
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

/**
 * Responds to `list_no_dup`. An unchanged list is recognized by its revision, without reading secrets: a list is polled far more
 * often than it changes.
 */
export async function respondWithList(
  context: VaultContext,
  validity: ListValidityCache,
  { caller, request, reply }: { caller: Caller; request: FastifyRequest; reply: FastifyReply },
): Promise<FastifyReply> {
  const { email } = caller;
  const asOf = context.clock.now();
  const known = await context.store.read(({ listRevisions }) => listRevisions.of(email));
  reply.header("cache-control", "private, no-cache");
  const digest = digestOf(caller, known);
  const same = knownTags(request)
    .map((tag) => timestampOf(tag, validity.since(email, known, asOf)))
    .filter((timestamp) => validity.isSame(email, known, timestamp, asOf))
    .map((timestamp) => tagOf(timestamp, digest))
    .find((tag) => isKnown(request, tag));
  if (same !== undefined) return reply.header("etag", same).status(304).send();

  const list = await openList(context, caller);
  const { revision, now: from } = list;
  reply.header("etag", tagOf(validity.since(email, revision, from), revision === known ? digest : digestOf(caller, revision)));
  const pieces = jsonOf({}, list, ({ consistent, until }) => {
    if (consistent) validity.remember(email, { revision, from, until });
  });
  return sendJson(reply, list.ids.length, pieces);
}
