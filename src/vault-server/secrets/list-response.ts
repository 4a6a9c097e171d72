import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { formatScope } from "../../protocol/format-scope.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { isKnown, knownTags } from "../http/etag.ts";
import { sendJson } from "../http/json-stream.ts";
import { jsonOf, openList } from "./list-secrets.ts";
import type { SteadyLists } from "./list-validity-cache.ts";

/** The list as of a moment is told by the moment and by whose list of which revision it is, seen through which scope. */
function tagOf(moment: number, { email, scope }: Caller, revision: string): string {
  const what = createHash("sha256").update(JSON.stringify([email, formatScope(scope), revision]));
  return `W/"${moment}-${what.digest("base64url")}"`;
}

/** `*` stands for the list as it is. */
function momentOf(tag: string, current: number): number {
  return tag === "*" ? current : Number(/^"([0-9]+(?:\.[0-9]+)?)-/u.exec(tag)?.[1] ?? Number.NaN);
}

/**
 * `list_no_dup`. That nothing has changed since the caller last asked costs no look at the secrets: an unchanged list is polled far more
 * often than it changes.
 */
export async function answerList(
  context: VaultContext,
  steady: SteadyLists,
  { caller, request, reply }: { caller: Caller; request: FastifyRequest; reply: FastifyReply },
): Promise<FastifyReply> {
  const { email } = caller;
  const asOf = context.clock.now();
  const known = await context.store.read(({ listRevisions }) => listRevisions.of(email));
  reply.header("cache-control", "private, no-cache");
  const same = knownTags(request)
    .map((tag) => momentOf(tag, steady.since(email, known, asOf)))
    .filter((moment) => steady.isSame(email, known, moment, asOf))
    .map((moment) => tagOf(moment, caller, known))
    .find((tag) => isKnown(request, tag));
  if (same !== undefined) return reply.header("etag", same).status(304).send();

  const list = await openList(context, caller);
  const { revision, now: from } = list;
  reply.header("etag", tagOf(steady.since(email, revision, from), caller, revision));
  const pieces = jsonOf({}, list, ({ whole, until }) => {
    if (whole) steady.remember(email, { revision, from, until });
  });
  return sendJson(reply, list.ids.length, pieces);
}
