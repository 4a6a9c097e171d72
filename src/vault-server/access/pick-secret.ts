import { errors } from "../errors.ts";
import type { SecretAccess } from "../store/records.ts";

/** What somebody has by one name, from which an operation picks the secret it is about. */
export interface Candidates {
  /** Of the caller, canonical. */
  readonly email: string;
  readonly held: readonly SecretAccess[];
}

export function isOwn(email: string, { secret }: SecretAccess): boolean {
  return secret.owner === email;
}

function onlyOne(held: readonly SecretAccess[]): SecretAccess | undefined {
  if (held.length > 1) throw errors.ambiguousName();
  return held[0];
}

function ofOwner(held: readonly SecretAccess[], owner: string | undefined): readonly SecretAccess[] {
  return owner === undefined ? held : held.filter(({ secret }) => secret.owner === owner);
}

/**
 * The caller's own secret for an unshared operation that makes one where there is none yet.
 * @throws ServiceError `use_link_operation` when it is shared
 */
export function pickOwnUnshared({ email, held }: Candidates): SecretAccess | undefined {
  const own = held.find((holding) => isOwn(email, holding));
  if (own?.shared) throw errors.useLinkOperation();
  return own;
}

/**
 * The caller's own secret for a reading unshared operation. Source: the vault contract, "Fine print", "Sharing".
 * @throws ServiceError `use_link_operation` when it is shared, or only a received one has the name; `secret_not_found`
 */
export function pickUnshared(candidates: Candidates): SecretAccess {
  const own = pickOwnUnshared(candidates);
  if (own) return own;
  throw candidates.held.length > 0 ? errors.useLinkOperation() : errors.secretNotFound();
}

/**
 * The received or own shared secret for a link operation. Source: the vault contract, "Fine print", "Sharing".
 * @throws ServiceError `ambiguous_name` when several have the name and no owner is given; `use_unshared_operation`; `secret_not_found`
 */
export function pickLinked({ held }: Candidates, owner: string | undefined): SecretAccess {
  const asked = ofOwner(held, owner);
  const linked = onlyOne(asked.filter((holding) => holding.shared));
  if (linked) return linked;
  if (asked.length === 0) throw errors.secretNotFound();
  throw errors.useUnsharedOperation();
}

/** Shared or not, own or received. @throws ServiceError `ambiguous_name`, `secret_not_found` */
export function pickAny({ held }: Candidates, owner: string | undefined): SecretAccess {
  const picked = onlyOne(ofOwner(held, owner));
  if (!picked) throw errors.secretNotFound();
  return picked;
}

/** One that somebody else created. @throws ServiceError `ambiguous_name`, `secret_not_found` */
export function pickReceived({ email, held }: Candidates, owner: string | undefined): SecretAccess {
  return pickAny({ email, held: held.filter((holding) => !isOwn(email, holding)) }, owner);
}
