import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";

const overlays = join(import.meta.dirname, "../../../deploy/overlays");

const NetworkPolicy = z.looseObject({
  kind: z.literal("NetworkPolicy"),
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.record(z.string(), z.unknown()),
});
export type NetworkPolicy = z.output<typeof NetworkPolicy>;

/** Returns the NetworkPolicies of an overlay of `deploy`, for another namespace. */
export async function policiesOf(
  cluster: NodeCluster,
  overlay: string,
  namespace: string,
): Promise<NetworkPolicy[]> {
  const text = await cluster.kubectlOutput(["kustomize", join(overlays, overlay)]);
  return parseAllDocuments(text).flatMap((document) => {
    const { success, data } = NetworkPolicy.safeParse(document.toJS());
    return success ? [{ ...data, metadata: { ...data.metadata, namespace } }] : [];
  });
}

/** A policy without one of its parts. */
export interface Weakened {
  /** The path of the part, such as `vaultsync.egress.0.ports.1`. */
  readonly path: string;
  readonly policy: NetworkPolicy;
}

type Path = readonly (string | number)[];

const Networks = z.object({ ipBlock: z.object({ cidr: z.string().includes(":") }) });

/**
 * Returns the paths of all elements of lists and of all selectors of peers in a value, except
 * networks of IPv6: a node has no such address.
 */
function parts(value: unknown, path: Path = []): Path[] {
  if (Array.isArray(value))
    return value.flatMap((one: unknown, index) =>
      Networks.safeParse(one).success ? [] : [[...path, index], ...parts(one, [...path, index])],
    );
  if (typeof value !== "object" || value === null) return [];
  const fields = Object.entries(value);
  const isPeer = fields.length > 1 && fields.every(([name]) => name.endsWith("Selector"));
  return fields.flatMap(([name, field]) => [
    ...(isPeer ? [[...path, name]] : []),
    ...parts(field, [...path, name]),
  ]);
}

/** Removes the part of a value at a path. */
function without(value: unknown, [first, ...rest]: Path): unknown {
  if (Array.isArray(value))
    return rest.length === 0
      ? value.toSpliced(Number(first), 1)
      : value.with(Number(first), without(value[Number(first)], rest));
  const copy: Record<string, unknown> = { ...z.record(z.string(), z.unknown()).parse(value) };
  const name = String(first);
  if (rest.length === 0) delete copy[name];
  else copy[name] = without(copy[name], rest);
  return copy;
}

/** Returns the policy without each of its parts: rules, ports, peers, exceptions and selectors. */
export function weakened(policy: NetworkPolicy): Weakened[] {
  return parts(policy.spec).map((path) => ({
    path: [policy.metadata.name, ...path].join("."),
    policy: {
      ...policy,
      spec: z.record(z.string(), z.unknown()).parse(without(policy.spec, path)),
    },
  }));
}
