import { CONTENT_ANNOTATION, CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import {
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import {
  CONFIG_MAPS,
  EVENTS,
  type KubeObject,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import { textsOf } from "./target-history.ts";
import { ACCOUNT, SYSTEM, type World } from "./world.ts";

/** The names of the entries that the scenarios push to. */
const PUSHED = ["pushed", "pushed.txt"] as const;
/** Facts in a status that only the process that sent a push knows. */
const PUSH_FACTS = new Set(["pushedAt", "created", "syncedAt"]);
/** The digest in the annotation of a merged target, or of a workload. */
const INNER_CONTENT = /(\\"content\\":\\")[\w-]{22,43}\\"/g;
/** The digest of the bytes of a target, in the annotation of a workload. */
const BYTES = /\\"[\w-]{6}\.[\w-]{22}\\"/g;
const TIMESTAMP = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/**
 * Returns everything that has to be the same with and without a fault: all objects but events and
 * Leases, without the times, versions of objects and identifiers that differ. Tokens are replaced
 * by whether the vault accepts them.
 */
export function finalState(world: World): Record<string, unknown> {
  const kinds = [
    SECRETS,
    CONFIG_MAPS,
    vaultConnectionKind,
    vaultSecretKind,
    vaultFileKind,
    vaultPushKind,
    workloadDescriptor.Deployment,
  ];
  const objects = kinds.flatMap((kind) => world.server.all(kind));
  const names = new Map(
    objects.map(({ kind, metadata }) => [metadata.uid ?? "", `${kind}/${metadata.name}`]),
  );
  const state = objects.map((object): [string, unknown] => [
    `${object.kind}/${object.metadata.name}`,
    comparable(world, object, names),
  ]);
  for (const name of PUSHED) {
    for (const kind of ["secret", "file"] as const)
      state.push([`${kind} ${name}`, versionsOf(world, kind, name)]);
  }
  return Object.fromEntries(state.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the values of all versions of an entry. */
function versionsOf({ vault }: World, kind: "secret" | "file", name: string): string[] {
  const numbers = Array.from({ length: 10 }, (_, at) => at + 1);
  return numbers
    .flatMap((version) => vault.bytesOf(kind, ACCOUNT, name, version) ?? [])
    .map((bytes) => Buffer.from(bytes).toString());
}

function comparable(world: World, object: KubeObject, names: ReadonlyMap<string, string>): unknown {
  const {
    uid: _,
    resourceVersion: __,
    creationTimestamp: ___,
    annotations,
    ownerReferences,
    ...metadata
  } = object.metadata;
  const content = annotations?.[CONTENT_ANNOTATION];
  const owners = ownerReferences?.map(({ uid, ...reference }) => ({
    ...reference,
    is: names.get(uid) ?? "nothing",
  }));
  const shown = {
    ...object,
    metadata: {
      ...metadata,
      annotations: {
        ...annotations,
        ...(content !== undefined && { [CONTENT_ANNOTATION]: "present" }),
      },
      owners,
      ...(object.kind === "Deployment" && { generation: undefined }),
    },
    ...(object.kind === "Secret" && { data: secretContent(world, object) }),
    ...(object.kind === "VaultConnection" && { status: withoutCounts(object["status"]) }),
    ...(object.kind === "VaultPush" && { status: withoutPushFacts(object["status"]) }),
    // Each change of the annotation counts as a generation. A fault may add one.
    ...(object.kind === "Deployment" && { status: undefined }),
  };
  return JSON.parse(
    JSON.stringify(shown, withoutIdentities)
      .replaceAll(INNER_CONTENT, '$1\\"')
      .replaceAll(BYTES, "DIGEST")
      .replaceAll(TIMESTAMP, "TIME"),
  );
}

/**
 * `status.connection` is a digest with the uid of the connection. `status.target.digest` and the
 * digest of a pod template use the content key, a random one. `status.target.resourceVersion` only
 * saves a read after a restart.
 */
const withoutIdentities = (name: string, value: unknown): unknown =>
  name === "resourceVersion"
    ? undefined
    : ["connection", "digest", CONTENT_ANNOTATION].includes(name)
      ? "ID"
      : value;

/** The numbers of entries come from the last list that concerned a resource. */
const withoutCounts = (status: unknown): object => ({
  ...(status as object),
  secrets: undefined,
  files: undefined,
});

const withoutPushFacts = (status: unknown): unknown =>
  JSON.parse(
    JSON.stringify(status ?? {}, (name, value: unknown) =>
      PUSH_FACTS.has(name) ? undefined : name === "content" ? "ID" : value,
    ),
  );

function secretContent(world: World, object: KubeObject): Record<string, string> {
  const texts = [...textsOf(object)].map(([key, text]): [string, string] => {
    if (object.metadata.namespace === SYSTEM) return [key, "a key"];
    const isToken = object["type"] === CREDENTIALS_TYPE && key.endsWith("_token");
    return [key, isToken ? tokenState(world, key, text) : text];
  });
  return Object.fromEntries(texts);
}

function tokenState(world: World, key: string, token: string): string {
  if (key !== "access_token") return "a refresh token";
  const { status } = world.vault.respond({
    operation: "list_no_dup",
    body: { email: ACCOUNT },
    token,
  });
  return status === 200 ? "accepted" : "rejected";
}

/** Returns how often each event was recorded. */
export function eventCounts(world: World): Map<string, number> {
  const counts = new Map<string, number>();
  for (const event of world.server.all(EVENTS)) {
    const { kind, name } = event["regarding"] as { kind: string; name: string };
    const { count } = (event["series"] ?? { count: 1 }) as { count: number };
    const id = `${kind}/${name} ${String(event["reason"])}`;
    counts.set(id, (counts.get(id) ?? 0) + count);
  }
  return counts;
}
