import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { formatScope } from "../../../protocol/format-scope.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { isKnown, knownTags } from "../http/etag.ts";
import { subjects } from "../store/subjects.ts";
import type { Transaction } from "../store/store.ts";
import type { ListState } from "../protection/waiting-lists.ts";
import type { ListRenderings } from "./list-renderings.ts";
import { sendOpenedList } from "./send-opened-list.ts";

/** Maximum number of users; the lists of further users are sent in full. */
const MAX_USERS = 10_000;

/**
 * Period in which the list of a revision does not change: no deadline passes and nothing expires.
 */
interface Validity {
  readonly revision: string;
  readonly from: number;
  readonly until: number;
}

/**
 * Remembers for each user's list how long it stays valid. An entry is known from reading the whole
 * list.
 */
export class ListValidityCache {
  readonly #known = new Map<string, Validity>();

  remember(email: string, validity: Validity): void {
    // The earliest start is kept, so that older entity tags stay valid.
    if (this.#at(email, validity.revision, validity.from)) return;
    this.#known.delete(email);
    this.#known.set(email, validity);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_USERS && oldest !== undefined) this.#known.delete(oldest);
  }

  #at(email: string, revision: string, timestamp: number): Validity | undefined {
    const validity = this.#known.get(email);
    return validity?.revision === revision &&
      validity.from <= timestamp &&
      timestamp < validity.until
      ? validity
      : undefined;
  }

  /** Returns the earliest time since which the list of this revision is known to be unchanged. */
  since(email: string, revision: string, timestamp: number): number {
    return this.#at(email, revision, timestamp)?.from ?? timestamp;
  }

  /**
   * Returns the time until which the list of this revision is known to be the same as at a time,
   * which it may have been only then.
   */
  until(email: string, revision: string, timestamp: number): number {
    return this.#at(email, revision, timestamp)?.until ?? timestamp;
  }

  /** Reports whether the list of this revision is known to be the same at both times. */
  isSame(email: string, revision: string, one: number, other: number): boolean {
    return (
      one === other ||
      (this.#at(email, revision, one) !== undefined &&
        this.#at(email, revision, other) !== undefined)
    );
  }
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
