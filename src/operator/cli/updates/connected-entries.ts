import { isObject } from "../../../lib/is-object.ts";
import { withoutTrailingSlashes } from "../../../lib/without-trailing-slashes.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { connectionKinds } from "../../api/kinds.ts";
import { ifFound, isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Cluster } from "../cluster.ts";
import { parsedResource, statusOf } from "../read-resource.ts";
import { refOf } from "../resource-name.ts";
import type { Entry } from "./entry-versions.ts";

/** Vault and account that a connection reads. */
interface Place {
  readonly url: string;
  readonly email: string;
}

/**
 * Returns what the connection of a resource reads; `unknown` if the user may not read it. @throws
 * Error if there is none
 */
async function placeOf(
  { api }: Pick<Cluster, "api">,
  object: KubeObject,
  signal: AbortSignal,
): Promise<Place | "unknown"> {
  const { kind, name } = parsedResource(object).connection;
  const named = { kind: connectionKinds[kind], name };
  const { namespace = "" } = object.metadata;
  try {
    const found = await ifFound(api.get(named.kind, refOf(named, namespace), signal));
    const { url, email } = isObject(found?.spec) ? found.spec : {};
    if (typeof url === "string" && typeof email === "string") return { url, email };
    throw new Error(`there is no ${kind} ${name}: it names the vault of the versions`);
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return "unknown";
    throw error;
  }
}

/**
 * Returns how a login names the entries of a resource. The account of the login may have secrets of
 * the same names, own and received, whose versions have nothing to do with the target.
 * @throws Error when the login is at another vault than the connection of the resource
 */
export async function namedBy(
  client: VaultClient,
  cluster: Pick<Cluster, "api">,
  object: KubeObject,
  signal: AbortSignal,
): Promise<(entry: Entry) => Entry> {
  const place = await placeOf(cluster, object, signal);
  if (place === "unknown") {
    const { kind, name } = parsedResource(object).connection;
    process.stderr.write(
      `not known whether your login is at the vault of the resource: you may not read ${kind} ${name}\n`,
    );
    return (entry) => entry;
  }
  const { url, email } = place;
  if (withoutTrailingSlashes(url) !== client.url)
    throw new Error(`${client.email} is logged in at ${client.url}: log in to ${url}`);
  return (entry) => {
    if (entry.kind === "secret") return { ...entry, owner: entry.owner ?? email };
    if (canonicalEmail(email) === canonicalEmail(client.email)) return entry;
    throw new Error(`files are not shared: log in to ${url} as ${email}`);
  };
}

/** Reports whether a resource names an owner of a secret, or has a version of it. */
function isOf(object: KubeObject, { name, owner }: { name: string; owner: string }): boolean {
  const owners = [
    ...parsedResource(object).items.filter(({ source }) => source === name),
    ...(statusOf(object).items ?? []).filter((item) => "owner" in item && item.key === name),
  ].flatMap((item) => ("owner" in item ? (item.owner ?? []) : []));
  return owners.some((one) => canonicalEmail(one) === owner);
}

/**
 * Reports whether a resource that refers to a secret of a name refers to the own one of a login, as
 * far as the user may know that.
 */
export async function mayReadOwn(
  client: VaultClient,
  cluster: Pick<Cluster, "api">,
  { object, name }: { readonly object: KubeObject; readonly name: string },
  signal: AbortSignal,
): Promise<boolean> {
  const place = await placeOf(cluster, object, signal).catch((error: unknown) => {
    if (isKubeError(error)) throw error;
    return "unknown" as const;
  });
  if (place === "unknown") return true;
  const own = canonicalEmail(client.email);
  const isVault = withoutTrailingSlashes(place.url) === client.url;
  return isVault && (canonicalEmail(place.email) === own || isOf(object, { name, owner: own }));
}
