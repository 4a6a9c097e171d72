import { ServiceError } from "../errors.ts";
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

/** Also for what exists and isn't the caller's to know of: the two are not to be told apart. */
export function secretNotFound(): ServiceError {
  return new ServiceError("secret_not_found", "there is no such secret");
}

function useLinkOperation(): ServiceError {
  return new ServiceError("use_link_operation", "the secret is shared: use the _link operation");
}

function onlyOne(held: readonly SecretAccess[]): SecretAccess | undefined {
  if (held.length > 1) throw new ServiceError("ambiguous_name", "several creators share this name with you: say which as owner");
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
  if (own?.shared) throw useLinkOperation();
  return own;
}

/**
 * The caller's own secret for a reading unshared operation. Source: the vault contract, "Fine print", "Sharing".
 * @throws ServiceError `use_link_operation` when it is shared, or only a received one has the name; `secret_not_found`
 */
export function pickUnshared(candidates: Candidates): SecretAccess {
  const own = pickOwnUnshared(candidates);
  if (own) return own;
  throw candidates.held.length > 0 ? useLinkOperation() : secretNotFound();
}

/**
 * The received or own shared secret for a link operation. Source: the vault contract, "Fine print", "Sharing".
 * @throws ServiceError `ambiguous_name` when several have the name and no owner is given; `use_unshared_operation`; `secret_not_found`
 */
export function pickLinked({ held }: Candidates, owner: string | undefined): SecretAccess {
  const asked = ofOwner(held, owner);
  const linked = onlyOne(asked.filter((holding) => holding.shared));
  if (linked) return linked;
  if (asked.length === 0) throw secretNotFound();
  throw new ServiceError("use_unshared_operation", "the secret is not shared: use the operation without _link");
}

/** Shared or not, own or received. @throws ServiceError `ambiguous_name`, `secret_not_found` */
export function pickAny({ held }: Candidates, owner: string | undefined): SecretAccess {
  const picked = onlyOne(ofOwner(held, owner));
  if (!picked) throw secretNotFound();
  return picked;
}

/** One that somebody else created. @throws ServiceError `ambiguous_name`, `secret_not_found` */
export function pickReceived({ email, held }: Candidates, owner: string | undefined): SecretAccess {
  return pickAny({ email, held: held.filter((holding) => !isOwn(email, holding)) }, owner);
}
