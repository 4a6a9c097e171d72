import { Document } from "yaml";
import { clusterVaultSecretKind, vaultSecretKind } from "../../api/kinds.ts";
import { ADOPT_ANNOTATION } from "../../api/names.ts";
import { type Manifest, type Problem, problemAt, sortProblems } from "../manifests/manifest.ts";
import { nameProblems } from "../plan/check-fields.ts";
import { readManifests } from "../manifests/read-manifests.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { isObject } from "../../../lib/is-object.ts";
import { printable } from "../../../lib/printable.ts";
import type { ReportField } from "./field-reader.ts";
import {
  convertClusterExternalSecret,
  type ConvertedClusterSecret,
} from "./convert-cluster-external-secret.ts";
import { convertExternalSecret, type ConvertedSecret } from "./convert-external-secret.ts";

/** Flags of `vaultsync import external-secrets`. */
export interface ImportFlags {
  readonly filename: string[];
  readonly namespace: string;
}

const GROUP = "external-secrets.io";

/** The objects that have no counterpart in a file, and what to do about them. */
const remedies: Readonly<Record<string, string>> = {
  SecretStore: `create a VaultConnection of this name (docs/resources.md)`,
  ClusterSecretStore: `create a ClusterVaultConnection of this name (docs/resources.md)`,
  PushSecret: "create a VaultPush (docs/resources.md)",
};

/** A complete conversion. */
interface HandOver extends Pick<ConvertedSecret, "target" | "isDeletedWithSource"> {
  readonly manifest: Pick<Manifest, "name" | "namespace">;
}

/**
 * Returns the commands that release an existing Secret. The former operator does not delete it: a
 * `deletionPolicy: Delete` is changed first, since that operator deletes the Secret itself, whatever
 * the garbage collector spares, and the deletion then sees the new policy.
 */
function releaseCommands({ manifest, isDeletedWithSource }: HandOver): string[] {
  const { name, namespace } = manifest;
  const retain = `kubectl patch externalsecret ${name} -n ${namespace} --type=merge -p '{"spec":{"target":{"deletionPolicy":"Retain"}}}'`;
  const release = `kubectl delete externalsecret ${name} -n ${namespace} --cascade=orphan`;
  return [...(isDeletedWithSource ? [retain] : []), release];
}

/**
 * Returns the commands that hand over the existing Secrets; only their owners may run them. One
 * Secret may have keys of several ExternalSecrets.
 */
function handOverCommands(all: readonly HandOver[]): string[] {
  const bySecret = Map.groupBy(all, ({ target, manifest }) => `${target} -n ${manifest.namespace}`);
  return [...bySecret].flatMap(([secret, handOvers]) => {
    const names = handOvers.map(({ manifest }) => `${vaultSecretKind.kind}/${manifest.name}`);
    const adopt = `kubectl annotate secret ${secret} ${ADOPT_ANNOTATION}=${names.join(",")}`;
    return [...handOvers.flatMap(releaseCommands), adopt];
  });
}

/** A complete conversion of a ClusterExternalSecret. */
interface ClusterHandOver extends Omit<ConvertedClusterSecret, "object"> {
  readonly manifest: Pick<Manifest, "name">;
}

/**
 * Says how to hand over the Secrets of a ClusterExternalSecret. No commands to be run one after
 * another: its deletion deletes the ExternalSecrets, and the Secrets that have these as owners.
 */
function clusterHandOver({
  manifest,
  target,
  namespaces,
  selectsByLabels,
}: ClusterHandOver): string {
  const { name } = manifest;
  const owners = `kubectl get secrets -A --field-selector metadata.name=${target} -o custom-columns=NAMESPACE:.metadata.namespace,OWNER:.metadata.ownerReferences[*].name`;
  const places = [...namespaces, ...(selectsByLabels ? ["NAMESPACE"] : [])];
  const steps = [
    `set creationPolicy: Orphan and deletionPolicy: Retain in its spec.externalSecretSpec.target`,
    `wait until no Secret ${target} has an owner, and remove one that stays: ${owners}`,
    `delete the ClusterExternalSecret: kubectl delete clusterexternalsecret ${name}`,
    `hand over the Secret in each namespace:`,
  ];
  const adopt = places.map(
    (place) =>
      `     kubectl annotate secret ${target} -n ${place} ${ADOPT_ANNOTATION}=${clusterVaultSecretKind.kind}/${name}`,
  );
  const lines = [...steps.map((step, index) => `  ${index + 1}. ${step}`), ...adopt];
  return `to take over the existing Secrets of ClusterExternalSecret ${name}, and not to lose them with it:\n${lines.map((line) => `${printable(line)}\n`).join("")}`;
}

/**
 * Returns the YAML of a resource. An incomplete one could replace a Secret by fewer or other
 * keys: it is suspended, and its first comment lists what is missing.
 */
function yamlOf({ object }: Pick<ConvertedSecret, "object">, lost: readonly string[]): string {
  if (lost.length === 0) return `---\n${String(new Document(object))}`;
  const document = new Document({ ...object, spec: { suspend: true, ...object.spec } });
  const todo = [
    "Incomplete, and suspended: complete what is listed here, then remove spec.suspend.",
    ...lost,
  ];
  document.commentBefore = todo.map((line) => ` ${printable(line)}`).join("\n");
  return `---\n${String(document)}`;
}

/** The results for the objects of files. */
interface Conversion {
  readonly texts: readonly string[];
  readonly problems: readonly Problem[];
  readonly handOvers: readonly HandOver[];
  readonly clusterHandOvers: readonly ClusterHandOver[];
}

const CLUSTER_KIND = "ClusterExternalSecret";

/**
 * Returns the name of the ClusterExternalSecret that created an ExternalSecret and creates it again
 * when it is deleted; `undefined` without one.
 */
function creatorOf({ metadata }: Manifest): string | undefined {
  const references = metadata["ownerReferences"];
  const owners: readonly unknown[] = Array.isArray(references) ? references : [];
  const creator = owners.find((one) => isObject(one) && one["kind"] === CLUSTER_KIND);
  return isObject(creator) ? String(creator["name"]) : undefined;
}

/** Converts all objects that can be converted, and reports the rest. */
function convert(manifests: readonly Manifest[]): Conversion {
  const isGiven = (name: string): boolean =>
    manifests.some((one) => one.kind === CLUSTER_KIND && one.name === name);
  const texts: string[] = [];
  const problems: Problem[] = [];
  const handOvers: HandOver[] = [];
  const clusterHandOvers: ClusterHandOver[] = [];
  for (const manifest of manifests) {
    const lost: Problem[] = [];
    const report: ReportField = (path, message) => lost.push(problemAt(manifest, path, message));
    const add = (converted: Pick<ConvertedSecret, "object">): void => {
      texts.push(
        yamlOf(
          converted,
          sortProblems(lost).map(({ message }) => message),
        ),
      );
      problems.push(...lost);
    };
    const creator = manifest.kind === "ExternalSecret" ? creatorOf(manifest) : undefined;
    if (creator !== undefined) {
      // The conversion of its creator has its target.
      if (isGiven(creator)) continue;
      const message = `ExternalSecret ${manifest.name} is not converted: ${CLUSTER_KIND} ${creator} creates it: convert that one`;
      problems.push(problemAt(manifest, ["kind"], message));
    } else if (manifest.kind === "ExternalSecret") {
      lost.push(...nameProblems(manifest, vaultSecretKind));
      const converted = convertExternalSecret(manifest, report);
      if (lost.length === 0) handOvers.push({ manifest, ...converted });
      add(converted);
    } else if (manifest.kind === CLUSTER_KIND) {
      lost.push(...nameProblems(manifest, clusterVaultSecretKind));
      const converted = convertClusterExternalSecret(manifest, report);
      if (lost.length === 0) clusterHandOvers.push({ manifest, ...converted });
      add(converted);
    } else {
      const remedy = remedies[manifest.kind] ?? "it has no counterpart";
      const message = `${manifest.kind} ${manifest.name} is not converted: ${remedy}`;
      problems.push(problemAt(manifest, ["kind"], message));
    }
  }
  return { texts, problems, handOvers, clusterHandOvers };
}

/** Prints the resources that replace ExternalSecrets. Reads files only. */
export async function importExternalSecrets({ filename, namespace }: ImportFlags): Promise<void> {
  const { manifests, problems: unreadable } = await readManifests(filename, GROUP, namespace);
  const { texts, handOvers, clusterHandOvers, ...converted } = convert(manifests);
  const problems = [...unreadable, ...converted.problems];
  if (manifests.length === 0 && problems.length === 0)
    throw new Error(`no ${GROUP} objects in ${filename.join(", ")}`);
  process.stdout.write(texts.join(""));
  for (const { file, line, message } of sortProblems(problems))
    process.stderr.write(`${printable(`${file}:${line}: ${message}`)}\n`);
  const commands = handOverCommands(handOvers);
  if (commands.length > 0)
    process.stderr.write(
      `to take over the existing Secrets, which stay meanwhile:\n${commands.map((command) => `  ${printable(command)}\n`).join("")}`,
    );
  process.stderr.write(clusterHandOvers.map(clusterHandOver).join(""));
  process.exitCode = problems.length === 0 ? 0 : HAS_PROBLEMS;
}
