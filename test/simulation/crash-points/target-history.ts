import {
  ADOPT_ANNOTATION,
  CREDENTIALS_TYPE,
  MANAGED_BY_LABEL,
  MERGED_LABEL,
  OWNER_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../../../src/operator/api/names.ts";
import {
  CONFIG_MAPS,
  EVENTS,
  type KubeObject,
  LEASES,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import type { Scenario } from "./scenario.ts";
import { CANARY, containsSecret, TEAM, type World } from "./world.ts";

type Losses = readonly string[];

/** Watches every write of the operator. Reports forbidden writes to `world.violations`. */
export function watchHistory(world: World, scenario: Scenario): void {
  world.server.onCommit((change) => {
    if (!change.user.startsWith("operator-")) return;
    for (const problem of problemsOf(change, scenario)) world.violations.push(problem);
  });
}

function* problemsOf(
  { resource, before, after }: Change,
  { losses = [], mergesKeys }: Scenario,
): Generator<string> {
  const { name: plain, namespace } = (after ?? before)!.metadata;
  const name = `${resource.kind}/${plain}`;
  const isTarget =
    [SECRETS.plural, CONFIG_MAPS.plural].includes(resource.plural) && namespace === TEAM;
  const isCredentials = (after ?? before)!["type"] === CREDENTIALS_TYPE;
  if (containsSecret(JSON.stringify({ ...after, data: undefined, binaryData: undefined })))
    yield `${name} contains a secret outside of its data`;
  if ([EVENTS.plural, LEASES.plural].includes(resource.plural) || !isTarget || isCredentials)
    return;
  if (mergesKeys) return yield* brokenMerge(name, before, after);
  if (before && !isManaged(before)) yield `${name} was written, but it is not the operator's`;
  // A released target belongs to its users, and merged keys have another annotation.
  if (after && (before === undefined || isMarked(after))) yield* wrongBytes(name, after);
  if (before && !losses.includes(name)) yield* lostBytes(name, before, after, losses);
}

const isMarked = ({ metadata: { labels, annotations } }: KubeObject): boolean =>
  labels?.[MANAGED_BY_LABEL] === "vaultsync" || annotations?.[OWNER_ANNOTATION] !== undefined;

const isManaged = (object: KubeObject): boolean => {
  const { labels, annotations } = object.metadata;
  return (
    isMarked(object) ||
    annotations?.[ADOPT_ANNOTATION] !== undefined ||
    labels?.[MERGED_LABEL] !== undefined
  );
};

/** The keys of other owners stay unchanged. */
function* brokenMerge(
  name: string,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): Generator<string> {
  if (!before || !after) return yield `${name} was created or deleted`;
  const now = textsOf(after);
  for (const [key, text] of textsOf(before)) {
    if (versionOf(text) === undefined && now.get(key) !== text)
      yield `${name} lost the key ${key} of others`;
  }
}

/** Every key has bytes of the vault, and the annotation names their version. */
function* wrongBytes(name: string, after: KubeObject): Generator<string> {
  const versions = JSON.parse(after.metadata.annotations?.[VERSIONS_ANNOTATION] ?? "{}") as Record<
    string,
    number
  >;
  const texts = textsOf(after);
  if (texts.size === 0) yield `${name} was written empty`;
  for (const [key, text] of texts) {
    const version = versionOf(text);
    if (version === undefined) yield `${name} ${key} has bytes that the vault never had: ${text}`;
    else if (versions[key] !== version)
      yield `${name} ${key} is labeled ${versions[key]} but has the bytes of version ${version}`;
  }
}

/** No key with bytes of the vault is removed, and no version decreases. */
function* lostBytes(
  name: string,
  before: KubeObject,
  after: KubeObject | undefined,
  losses: Losses,
): Generator<string> {
  const now = after ? textsOf(after) : new Map<string, string>();
  for (const [key, text] of textsOf(before)) {
    const was = versionOf(text);
    if (was === undefined || losses.includes(`${name} ${key}`)) continue;
    const is = versionOf(now.get(key) ?? "");
    if (is === undefined) yield `${name} lost its key ${key}`;
    else if (is < was && sourceOf(text) === sourceOf(now.get(key)!))
      yield `${name} ${key} went from version ${was} back to ${is}`;
  }
}

const versionOf = (text: string): number | undefined => {
  const [canary, , version] = text.split("/");
  return canary === CANARY ? Number(version) : undefined;
};

const sourceOf = (text: string): string | undefined => text.split("/")[1];

const entries = (part: unknown): [string, string][] =>
  Object.entries((part ?? {}) as Record<string, string>);

/** Returns the decoded content of a Secret or ConfigMap. */
export function textsOf(object: KubeObject): Map<string, string> {
  const decoded = (part: unknown): [string, string][] =>
    entries(part).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]);
  return object.kind === "Secret"
    ? new Map(decoded(object["data"]))
    : new Map([...entries(object["data"]), ...decoded(object["binaryData"])]);
}
