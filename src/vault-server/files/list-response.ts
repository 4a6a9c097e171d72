import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { FileRecord } from "../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { isKnown } from "../http/etag.ts";
import { subjects } from "../store/subjects.ts";
import type { Transaction } from "../store/store.ts";
import type { ListState } from "../waiting/waiting-lists.ts";
import { listFiles } from "./read-files.ts";

function weakTag(content: string): string {
  return `W/"${createHash("sha256").update(content).digest("base64url")}"`;
}

/** Returns the entity tag of a list with a revision; without one, the content identifies it. */
function tagOf(email: string, revision: string | undefined, body: () => string): string {
  return weakTag(revision === undefined ? body() : JSON.stringify([email, revision]));
}

function bodyOf(files: readonly FileRecord[]): string {
  return JSON.stringify({ files });
}

/**
 * Responds to `list_file`. An unchanged list is recognized by its revision, without reading files. A client that prefers to wait
 * gets the response when its list changes.
 * @throws ServiceError `invalid_token` when the token or session ends while the list waits
 */
export async function respondWithFiles(context: VaultContext, caller: Caller, reply: FastifyReply): Promise<FastifyReply> {
  const { email } = caller;
  const { request } = reply;
  reply.header("cache-control", "private, no-cache");
  const read = async (transaction: Transaction): Promise<ListState> => {
    const revision = await transaction.listRevisions.ofFiles(email);
    const files = revision === undefined ? await listFiles(context, transaction, email) : [];
    const tag = tagOf(email, revision, () => bodyOf(files));
    return { sameTag: isKnown(request, tag) ? tag : undefined, subjects: [subjects.files(email)], until: Infinity };
  };
  const { sameTag } = await context.waiting.settle({ caller, reply, subject: subjects.files(email), read });
  if (sameTag !== undefined) return reply.header("etag", sameTag).status(304).send();
  const { revision, body } = await context.store.read(async (transaction) => ({
    revision: await transaction.listRevisions.ofFiles(email),
    body: bodyOf(await listFiles(context, transaction, email)),
  }));
  reply.header(
    "etag",
    tagOf(email, revision, () => body),
  );
  return reply.type("application/json; charset=utf-8").send(body);
}
