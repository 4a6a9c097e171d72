import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { ACCOUNT, PASSWORD, VAULT_URL, type World } from "./world.ts";

/** A kind of reconcile: what exists, what happens, and which bytes may go. */
export interface Scenario {
  readonly name: string;
  readonly setUp: (world: World) => void;
  /**
   * True for a scenario about the first start; otherwise the operator has converged before the
   * first act.
   */
  readonly atStart?: boolean;
  readonly leaderElect?: boolean;
  /** Actions of users, in the order of the times since the recording began. */
  readonly acts?: readonly { readonly atMs?: number; readonly act: (world: World) => void }[];
  /** Time in ms for the operator to converge before the recording. */
  readonly warmUpMs?: number;
  readonly recordMs?: number;
  /** Content that the scenario removes: `Secret/db`, or `Secret/db user` for one key. */
  readonly losses?: readonly string[];
  /**
   * True if garbage collection may be faster than the operator: then other events are right as
   * well.
   */
  readonly racesCollection?: boolean;
  /** True if the target belongs to others, who have keys of their own in it. */
  readonly mergesKeys?: boolean;
}

const PASSWORD_AUTH = { passwordSecretRef: { name: "login" } };

export function connect(world: World, spec: object = {}): void {
  world.putCredentials("login", { password: PASSWORD });
  world.put("VaultConnection", "vault", {
    url: VAULT_URL,
    email: ACCOUNT,
    auth: PASSWORD_AUTH,
    ...spec,
  });
}

/** Makes the VaultSecret `db` with a key for each secret of the vault. */
export function sync(
  world: World,
  keys: readonly string[],
  target: object = {},
  spec: object = {},
  annotations = {},
): void {
  const data = keys.map((key) => ({ secretKey: key, remoteRef: { key } }));
  world.put(
    "VaultSecret",
    "db",
    { connectionRef: { name: "vault" }, data, target, ...spec },
    annotations,
  );
}

export function syncFile(world: World, kind: "ConfigMap" | "Secret"): void {
  world.put("VaultFile", "conf", {
    connectionRef: { name: "vault" },
    files: [{ filename: "app.conf" }],
    target: { kind },
  });
}

/** A connection and a VaultSecret with these keys. */
export function synced(...keys: readonly string[]): (world: World) => void {
  return (world) => {
    world.write(...keys);
    connect(world);
    sync(world, keys);
  };
}

/** Changes the metadata of the target as a user does. */
export function changeMetadata(
  world: World,
  change: (metadata: Record<string, unknown>) => object,
): void {
  world.edit(SECRETS, "db", (target) => ({
    ...target,
    metadata: { ...target.metadata, ...change({ ...target.metadata }) },
  }));
}
