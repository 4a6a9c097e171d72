import {
  type ClusterConnectionSpec,
  clusterConnectionSpec,
  connectionSpec,
  type ConnectionSpec,
} from "../api/vault-connection.ts";
import { clusterVaultConnectionKind } from "../api/kinds.ts";
import { explainProblems } from "../api/validation.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { AccessEntry } from "../sync/namespace-access.ts";

/** A connection of either kind, or the reason why its spec is invalid. */
export type ParsedConnection =
  | {
      readonly ok: true;
      readonly spec: ConnectionSpec;
      /**
       * Namespaces that may use a ClusterVaultConnection, with their names; empty for a
       * VaultConnection.
       */
      readonly access: readonly AccessEntry[];
      /**
       * Identifies everything that a client is opened with. Access is not included: it may change
       * while the client is open.
       */
      readonly fingerprint: string;
    }
  | { readonly ok: false; readonly problem: string };

/** Results by object: each reconcile of a connection parses it, and hardly any changed it. */
const known = new WeakMap<KubeObject, ParsedConnection>();

/**
 * Parses and validates a connection, because the installed CRD may be older than the operator.
 * Total.
 */
export function parseConnection(object: KubeObject): ParsedConnection {
  let parsed = known.get(object);
  if (parsed === undefined) known.set(object, (parsed = parse(object)));
  return parsed;
}

function parse({ kind, metadata, spec }: KubeObject): ParsedConnection {
  const schema = kind === clusterVaultConnectionKind.kind ? clusterConnectionSpec : connectionSpec;
  const parsed = schema.safeParse(spec);
  if (!parsed.success) return { ok: false, problem: explainProblems(parsed.error) };
  const { access = [], ...common }: ClusterConnectionSpec = parsed.data;
  // Includes the uid: a connection that was recreated under the same name is another one.
  return { ok: true, spec: common, access, fingerprint: JSON.stringify([metadata.uid, common]) };
}
