import { InvalidArgumentError } from "commander";
import { type Kind, syncedKinds, vaultSecretKind } from "../api/kinds.ts";

/** A resource as the command line names it. */
export interface ResourceName {
  readonly kind: Kind;
  readonly name: string;
}

/** Returns a resource as messages name it: `vaultsecret/db`. */
export const idOf = ({ kind, name }: ResourceName): string => `${kind.singular}/${name}`;

/** Returns the same with the namespace, if the kind has one: `vaultsecret/db in namespace shop`. */
export const placedId = (name: ResourceName, namespace: string): string =>
  name.kind.namespaced ? `${idOf(name)} in namespace ${namespace}` : idOf(name);

/** Returns the object that a name is of. A cluster-scoped one has no namespace. */
export const refOf = (
  { kind, name }: ResourceName,
  namespace: string,
): { readonly namespace?: string; readonly name: string } =>
  kind.namespaced ? { namespace, name } : { name };

/** Parses `NAME`, a VaultSecret, or `KIND/NAME`, of one of these kinds. @throws InvalidArgumentError */
export function nameOf(text: string, kinds: readonly Kind[]): ResourceName {
  const [first = "", second, ...more] = text.split("/");
  const kindName = second === undefined ? vaultSecretKind.singular : first.toLowerCase();
  const isOf = ({ singular, plural, shortName }: Kind): boolean =>
    [singular, plural, shortName].includes(kindName);
  const kind = kinds.find(isOf);
  const name = second ?? first;
  if (kind !== undefined && name !== "" && more.length === 0) return { kind, name };
  const expected = kinds.map(({ singular }) => `${singular}/NAME`);
  throw new InvalidArgumentError(
    `expected NAME, ${expected.slice(0, -1).join(", ")} or ${expected.at(-1)}.`,
  );
}

/** The argument of a command for resources that follow versions of the vault. */
export const FOLLOWING_NAME =
  "NAME or vaultsecret/NAME, vaultfile/NAME, clustervaultsecret/NAME or clustervaultfile/NAME";

/** Parses the name of a resource that has targets. @throws InvalidArgumentError */
export const parseFollowingName = (text: string): ResourceName =>
  nameOf(text, Object.values(syncedKinds));
