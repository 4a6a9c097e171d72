import type { VaultClient } from "../../../src/protocol/client/vault-client.ts";
import { listNoDup } from "../../../src/protocol/operations/secrets.ts";
import { API_GROUP, API_VERSION } from "../../../src/operator/api/kinds.ts";
import type { Manifest } from "../../../src/operator/cli/manifests/manifest.ts";
import { checkClusterRules } from "../../../src/operator/cli/plan/check-cluster-rules.ts";
import { withConnections, withNamespaces } from "../../../src/operator/cli/plan/cluster-state.ts";
import { Comparison } from "../../../src/operator/cli/plan/comparison.ts";
import { check } from "../../../src/operator/cli/plan/plan.ts";
import { planOf } from "../../../src/operator/cli/plan/planned-resource.ts";
import type { PlannedKey, PlanResult } from "../../../src/operator/cli/plan/print-plan.ts";
import { readCluster } from "../../../src/operator/cli/plan/read-cluster.ts";
import { References } from "../../../src/operator/cli/plan/resolve-references.ts";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import { KubeError } from "../../../src/operator/kube/kube-error.ts";
import type {
  KubeObject,
  ObjectRef,
  ResourceDescriptor,
} from "../../../src/operator/kube/resource.ts";

/**
 * `vaultsync plan` with one VaultSecret `db` in the files, a cluster in memory and a vault account.
 */

const NOW = Date.UTC(2026, 10, 21, 12);
const OPS = "ops@example.com";
const VAULT = "https://vault.example.com";
const apiVersion = `${API_GROUP}/${API_VERSION}`;

export const reference = (key: string, more: object = {}): object => ({ key, ...more });
export const data = (
  ...entries: readonly (readonly [secretKey: string, remoteRef: object])[]
): object => ({
  data: entries.map(([secretKey, remoteRef]) => ({ secretKey, remoteRef })),
});
export const password = data(["password", reference("db")]);

/** The item of a status for a key whose entry has the same name as its source. */
export const shown = (
  secretKey: string,
  key: string,
  version: number,
  more: object = {},
): object => ({
  secretKey,
  key,
  version,
  latest: version,
  ...more,
});

interface Live {
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly items?: readonly object[];
  readonly status?: object;
}

/** A VaultSecret of the cluster, of generation 4. */
export function live({ spec = password, annotations = {}, items, status }: Live = {}): KubeObject {
  return {
    apiVersion,
    kind: "VaultSecret",
    metadata: { namespace: "shop", name: "db", uid: "uid", generation: 4, annotations },
    spec: { connectionRef: { name: "vault" }, ...spec },
    status: {
      observedGeneration: 4,
      target: { kind: "Secret", name: "db" },
      items: items ?? [shown("password", "db", 3)],
      ...status,
    },
  };
}

export const connection = (url = VAULT): KubeObject => ({
  apiVersion,
  kind: "VaultConnection",
  metadata: { namespace: "shop", name: "vault", uid: "connection" },
  spec: { url, email: OPS, auth: { passwordSecretRef: { name: "login" } } },
});

export const namespace = (annotations = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "shop", annotations, creationTimestamp: "2026-11-21T00:00:00Z" },
});

export const freeze = (data_: object): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "vaultsync-system", name: "vaultsync-freeze" },
  data: data_,
});

/** A workload that uses the Secret `db`. */
export function deployment(name: string, annotations = {}): KubeObject {
  const containers = [{ name: "app", envFrom: [{ secretRef: { name: "db" } }] }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "shop", name, annotations },
    spec: { template: { spec: { containers } } },
  };
}

/** The API server with these objects; it denies the collections in `denied`. */
function apiOf(objects: readonly KubeObject[], denied: readonly string[]): KubeClient {
  const allowed = ({ plural }: ResourceDescriptor, operation: string): void => {
    if (denied.includes(plural)) throw new KubeError({ kind: "Forbidden", operation });
  };
  const get = async ({ kind, ...of }: ResourceDescriptor, { name }: ObjectRef) => {
    await Promise.resolve();
    allowed({ kind, ...of }, "get");
    const found = objects.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new KubeError({ kind: "NotFound", operation: "get" });
    return found;
  };
  const list = async function* (resource: ResourceDescriptor) {
    await Promise.resolve();
    allowed(resource, "list");
    const items = objects.filter(({ kind }) => kind === resource.kind);
    yield { items, resourceVersion: "1" };
  };
  return { get, getMetadata: get, list } as unknown as KubeClient;
}

/** A login whose account has entries of these latest versions; each version has its author. */
export function loginOf(latest: Readonly<Record<string, number>>): References {
  const record = (key_name: string, key_version: number) => ({
    key_name,
    key_version,
    owner: OPS,
    shared: false,
    metadata: {},
    created_at: "",
    delete_at: "",
    created_by: `user${key_version}@example.com`,
  });
  const call = (operation: unknown, { key_name = "" }: { readonly key_name?: string }) => {
    const versions = Array.from({ length: latest[key_name] ?? 0 }, (_, at) =>
      record(key_name, at + 1),
    );
    const secrets = Object.entries(latest).map(([name, version]) => record(name, version));
    return Promise.resolve(operation === listNoDup ? { secrets } : { versions });
  };
  return new References({ url: VAULT, email: OPS, call } as unknown as VaultClient);
}

/** A VaultSecret `db` of a file. */
export const manifestOf = (spec: unknown, kind = "VaultSecret", annotations?: object): Manifest => {
  const name = kind === "VaultSecret" ? "db" : "vault";
  const metadata = { name, ...(annotations !== undefined && { annotations }) };
  const place = { file: "db.yaml", fields: [], lineOf: () => 1 };
  return { apiVersion, kind, name, namespace: "shop", metadata, spec, ...place };
};

export interface Scene {
  /** The spec of the file, in addition to its connection. */
  readonly spec?: object;
  readonly annotations?: object;
  /** The connection of the file, if it has one. */
  readonly file?: KubeObject;
  readonly objects?: readonly KubeObject[];
  readonly vault?: Readonly<Record<string, number>>;
  readonly denied?: readonly string[];
  readonly offline?: boolean;
}

/** Plans one VaultSecret `db` that is compared with a cluster. */
export async function planned({
  spec = password,
  annotations,
  file,
  objects = [live()],
  vault = { db: 5 },
  denied = [],
  offline = false,
}: Scene): Promise<PlanResult> {
  const manifest = manifestOf(
    { connectionRef: { name: "vault" }, ...spec },
    "VaultSecret",
    annotations,
  );
  const manifests = [
    manifest,
    file === undefined ? [] : manifestOf(file["spec"], "VaultConnection"),
  ].flat();
  const inFiles = planOf(manifests, [], []);
  const has = (kind: string): boolean => objects.some((one) => one.kind === kind);
  const around = [
    has("VaultConnection") ? [] : connection(),
    has("Namespace") ? [] : namespace(),
  ].flat();
  const api = apiOf([...around, ...objects], denied);
  const signal = new AbortController().signal;
  const state = await readCluster({ api }, inFiles, "vaultsync-system", signal);
  const plan = withConnections(inFiles, state);
  const checked = await check({
    whole: plan,
    namespaces: withNamespaces(new Map(), state),
    logins: offline ? undefined : [loginOf(vault)],
    comparison: new Comparison(state, "vaultsync-system", NOW),
  });
  const together = checkClusterRules({ manifests, coreObjects: [], problems: [] }, plan);
  return { ...checked, problems: [...checked.problems, ...together] };
}

/** Returns the facts of a key that the tests compare, without those that are absent. */
export const factsOf = ({
  key,
  served,
  version,
  change,
  author,
  latest,
  waitsFor,
}: PlannedKey): object =>
  JSON.parse(JSON.stringify({ key, served, version, change, author, latest, waitsFor }));

export const keysOf = async (scene: Scene): Promise<object[]> =>
  (await planned(scene)).keys.map(factsOf);

export const follows = {
  key: "password",
  served: 3,
  version: 5,
  change: "version",
  author: "user5@example.com",
};
export const unchanged = { key: "password", served: 3, version: 3, change: "none" };
export const approval = { updates: { approval: "Required" } };
export const gated = { ...password, ...approval };
