import type { Clock } from "../../lib/clock.ts";
import { isObject } from "../../lib/is-object.ts";
import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../api/kinds.ts";
import { rolloutRestart, type WorkloadKind } from "../api/rollout-restart.ts";
import type { KubeApi, AccessAttributes, AccessReviewer } from "../kube/client/kube-api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import {
  ALL_NAMESPACES,
  type KubeObject,
  LEASES,
  CUSTOM_RESOURCE_DEFINITIONS,
} from "../kube/resource.ts";
import { type Check, checksOf, someOf } from "./check.ts";
import { clusterAccess, type OperatorFlags, requiredAccess } from "./permissions.ts";
import { z } from "zod";
import { customResourceDefinitions } from "../api/crd.ts";
import { firstOf } from "../lib/first-of.ts";
import { shardLeaseName, shardsByLeaseName } from "../api/lease-names.ts";

/** Time without a renewal after which a Lease has expired for certain, in milliseconds. */
const EXPIRED_MS = 30_000;

/** The Lease of one shard: its holder works on the connections of the shard. */
interface ShardLease {
  readonly name: string;
  readonly shards: number;
  readonly holder: string;
  /** In milliseconds since the epoch. */
  readonly renewedAt: number;
}

/** Returns the Lease of a shard; `undefined` for any other Lease, such as the one of a replica. */
function shardLease({ metadata: { name }, spec }: KubeObject): ShardLease | undefined {
  const shards = shardsByLeaseName(name);
  if (shards === undefined) return undefined;
  const { holderIdentity, renewTime } = isObject(spec) ? spec : {};
  return {
    name,
    shards,
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    renewedAt: (typeof renewTime === "string" && Date.parse(renewTime)) || 0,
  };
}

/**
 * Checks that each shard has a replica that works on it. The Leases of another number of shards
 * stay after a change of the flag: the last renewed one has the current number.
 */
export function leaseCheck(objects: readonly KubeObject[], namespace: string, now: number): Check {
  const leases = objects.flatMap((object) => shardLease(object) ?? []);
  const [latest] = leases.toSorted((one, other) => other.renewedAt - one.renewedAt);
  const remedy = `start the operator, for example kubectl -n ${namespace} rollout restart deployment/vaultsync; --operator-namespace names another namespace`;
  if (latest === undefined)
    return failed("running", `no Lease of an operator in namespace ${namespace}`, remedy);
  const { shards } = latest;
  const age = ({ renewedAt }: ShardLease): string =>
    `${Math.max(0, Math.round((now - renewedAt) / 1000))} s ago`;
  const isHeld = ({ holder, renewedAt }: ShardLease): boolean =>
    holder !== "" && now - renewedAt < EXPIRED_MS;
  const all = Array.from({ length: shards }, (_, shard) => shardLeaseName(shard, shards)).map(
    (name) => ({
      name,
      lease: leases.find((one) => one.name === name),
    }),
  );
  const free = all.filter(({ lease }) => lease === undefined || !isHeld(lease));
  if (free.length > 0) {
    const what = firstOf(free, {
      text: ({ name, lease }) =>
        lease === undefined
          ? `there is no Lease ${name}`
          : `the Lease ${name} was renewed ${age(lease)} for the last time`,
    });
    const whom = shards === 1 ? "" : ` ${free.length} of ${shards} shards`;
    return failed("running", `no operator leads${whom}: ${what}`, remedy);
  }
  const holders = new Set(
    all.flatMap(({ lease }) => (lease === undefined ? [] : lease.holder.split("_").slice(0, 1))),
  );
  const names = firstOf([...holders]);
  return ok(
    "running",
    shards === 1
      ? `${names} leads; it renewed its Lease ${age(latest)}`
      : `the ${shards} shards have a leader (${names}); the last Lease was renewed ${age(latest)}`,
  );
}

const definition = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    versions: z.array(
      z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: z.unknown() }) }),
    ),
  }),
});
type Definition = z.output<typeof definition>;

const CHECK = "CRD fields";

/** Returns the paths of all fields of a schema, for example `spec.data[].secretKey`. */
function fieldsOf(schema: unknown, path = ""): string[] {
  if (!isObject(schema)) return [];
  const { properties, items } = schema;
  const fields = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, field]) => {
    const here = path === "" ? name : `${path}.${name}`;
    return [here, ...fieldsOf(field, here)];
  });
  return [...fields, ...fieldsOf(items, `${path}[]`)];
}

/**
 * Returns the fields of this release that an installed CRD lacks; of a part that it lacks as a
 * whole, only the first.
 */
function missingFields(expected: Definition, installed: Definition): string[] {
  const [wanted] = expected.spec.versions;
  const version = installed.spec.versions.find(({ name }) => name === wanted?.name);
  const known = new Set(fieldsOf(version?.schema.openAPIV3Schema));
  const missing = fieldsOf(wanted?.schema.openAPIV3Schema).filter((field) => !known.has(field));
  return missing.filter(
    (field) =>
      !missing.some((parent) => field.startsWith(`${parent}.`) || field.startsWith(`${parent}[]`)),
  );
}

/** Checks whether the installed CRDs have every field of this release. */
async function checkCrdFields(api: KubeApi, signal: AbortSignal): Promise<Check> {
  const missing: string[] = [];
  for (const each of customResourceDefinitions().values()) {
    const expected = definition.parse(each);
    const { name } = expected.metadata;
    try {
      const installed = definition.parse(
        await api.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, signal),
      );
      const fields = missingFields(expected, installed);
      if (fields.length > 0) missing.push(`${name} lacks ${someOf(fields)}`);
    } catch (error) {
      if (isKubeError(error, "NotFound")) {
        missing.push(`${name} is not installed`);
        continue;
      }
      if (!isKubeError(error, "Forbidden")) throw error;
      return cluster.skipped(CHECK, "no permission to get CustomResourceDefinitions");
    }
  }
  if (missing.length === 0) return cluster.ok(CHECK, "the CRDs have every field of this release");
  const message = `the CRDs are older than this program: ${missing.join("; ")}`;
  return cluster.failed(CHECK, message, "apply the CRDs of this release: kubectl apply -k crds");
}

/** An operator, and the namespace that it is to work in. */
export interface OperatorPlace {
  readonly api: KubeApi & AccessReviewer;
  /** Namespace whose resources are checked. */
  readonly namespace: string;
  readonly operatorNamespace: string;
  readonly serviceAccount: string;
  readonly flags: OperatorFlags;
  readonly clock: Clock;
}

/** The kinds that an operator needs to start. The fields of the CRDs tell which others are missing. */
const KINDS = [
  vaultConnectionKind,
  vaultSecretKind,
  vaultFileKind,
  vaultPushKind,
  clusterVaultConnectionKind,
];

const { ok, failed, skipped } = checksOf("operator");
const cluster = checksOf("cluster");

/**
 * Checks what the whole cluster needs: CRDs, and a running operator.
 * @throws KubeError without a usable API server
 */
export async function* checkCluster(
  place: OperatorPlace,
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const served = await checkServed(place, signal);
  yield served;
  if (served.result === "failed") return;
  yield await checkCrdFields(place.api, signal);
  yield await checkLease(place, signal);
}

async function checkServed({ api, namespace }: OperatorPlace, signal: AbortSignal): Promise<Check> {
  const missing: string[] = [];
  for (const kind of KINDS) {
    try {
      const scope = kind.namespaced ? namespace : ALL_NAMESPACES;
      for await (const _ of api.list(
        kind,
        { namespace: scope, paged: true, metadataOnly: true },
        signal,
      ))
        break;
    } catch (error) {
      // A user of one namespace need not be allowed to list these, and cannot know then whether
      // they are served.
      if (isKubeError(error, "Forbidden") && !kind.namespaced) continue;
      if (!isKubeError(error, "NotServed")) throw error;
      missing.push(`${kind.plural}.${kind.group}`);
    }
  }
  if (missing.length === 0)
    return cluster.ok("CRDs", `the API server serves ${KINDS.map(({ kind }) => kind).join(", ")}`);
  const message = `the API server does not serve ${missing.join(", ")}`;
  return cluster.failed("CRDs", message, "install the CRDs: kubectl apply -k crds");
}

async function checkLease(place: OperatorPlace, signal: AbortSignal): Promise<Check> {
  const { api, operatorNamespace: namespace, clock } = place;
  const leases: KubeObject[] = [];
  try {
    for await (const { items } of api.list(LEASES, { namespace, paged: true }, signal))
      leases.push(...items);
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    return skipped("running", `no permission to list Leases in namespace ${namespace}`);
  }
  return leaseCheck(leases, namespace, clock.now());
}

const describe = ({ verb, resource, subresource, namespace }: AccessAttributes): string =>
  `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`} in ${namespace || "the cluster"}`;

/** Returns the kinds of workloads that resources name, of those that are valid. */
const restartedBy = (resources: readonly KubeObject[]): ReadonlySet<WorkloadKind> =>
  new Set(
    resources
      .map(({ spec }) => (isObject(spec) ? spec["rolloutRestart"] : undefined))
      .flatMap((written) => rolloutRestart.safeParse(written).data ?? [])
      .map(({ kind }) => kind),
  );

/** Checks the permissions of the operator. @param resources those that it has to sync */
export async function checkPermissions(
  place: OperatorPlace,
  resources: readonly KubeObject[],
  signal: AbortSignal,
): Promise<Check> {
  const { api, namespace, operatorNamespace, serviceAccount, flags } = place;
  const modes = { ...flags, restarted: restartedBy(resources) };
  const user = `system:serviceaccount:${operatorNamespace}:${serviceAccount}`;
  const groups = [
    "system:serviceaccounts",
    `system:serviceaccounts:${operatorNamespace}`,
    "system:authenticated",
  ];
  let required: AccessAttributes[];
  let allowed: boolean[];
  try {
    const isForCluster = await api.isAllowed({ user, groups }, clusterAccess, signal);
    required = requiredAccess(namespace, operatorNamespace, isForCluster, modes);
    allowed = await Promise.all(
      required.map((attributes) => api.isAllowed({ user, groups }, attributes, signal)),
    );
  } catch (error) {
    if (!isKubeError(error, "Forbidden")) throw error;
    return skipped("permissions", "no permission to create SubjectAccessReviews");
  }
  const denied = required.filter((_, index) => allowed[index] !== true).map(describe);
  if (denied.length === 0)
    return ok("permissions", `${user} has the ${required.length} permissions that it needs`);
  return failed(
    "permissions",
    `${user} may not: ${someOf(denied)}`,
    "apply deploy/chart/files/base/rbac.yaml, or give --target-watch and --auto-restart as the operator has them; --service-account and --operator-namespace name another ServiceAccount",
  );
}
