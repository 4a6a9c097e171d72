import { Document } from "yaml";
import { vaultSecretKind } from "../../api/kinds.ts";
import { ADOPT_ANNOTATION } from "../../api/names.ts";
import { type Manifest, type Problem, problemAt, sortProblems } from "../manifests/manifest.ts";
import { readManifests } from "../manifests/read-manifests.ts";
import { HAS_PROBLEMS } from "../options.ts";
import { printable } from "../../../lib/printable.ts";
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
  ClusterExternalSecret: `create a ${vaultSecretKind.kind} in each namespace`,
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

/**
 * Returns the YAML of a VaultSecret. An incomplete one could replace a Secret by fewer or other
 * keys: it is suspended, and its first comment lists what is missing.
 */
function yamlOf({ object }: ConvertedSecret, lost: readonly string[]): string {
  if (lost.length === 0) return `---\n${String(new Document(object))}`;
  const document = new Document({ ...object, spec: { suspend: true, ...object.spec } });
  const todo = [
    "Incomplete, and suspended: complete what is listed here, then remove spec.suspend.",
    ...lost,
  ];
  document.commentBefore = todo.map((line) => ` ${printable(line)}`).join("\n");
  return `---\n${String(document)}`;
}

/** Prints the VaultSecrets of ExternalSecrets. Reads files only. */
export async function importExternalSecrets({ filename, namespace }: ImportFlags): Promise<void> {
  const { manifests, problems: unreadable } = await readManifests(filename, GROUP, namespace);
  const problems: Problem[] = [...unreadable];
  const handOvers: HandOver[] = [];
  for (const manifest of manifests) {
    if (manifest.kind !== "ExternalSecret") {
      const remedy = remedies[manifest.kind] ?? "it has no counterpart";
      problems.push(
        problemAt(
          manifest,
          ["kind"],
          `${manifest.kind} ${manifest.name} is not converted: ${remedy}`,
        ),
      );
      continue;
    }
    const lost: Problem[] = [];
    const converted = convertExternalSecret(manifest, (path, message) =>
      lost.push(problemAt(manifest, path, message)),
    );
    if (lost.length === 0) handOvers.push({ manifest, ...converted });
    const messages = sortProblems(lost).map(({ message }) => message);
    process.stdout.write(yamlOf(converted, messages));
    problems.push(...lost);
  }
  if (manifests.length === 0 && problems.length === 0)
    throw new Error(`no ${GROUP} objects in ${filename.join(", ")}`);
  for (const { file, line, message } of sortProblems(problems))
    process.stderr.write(`${printable(`${file}:${line}: ${message}`)}\n`);
  const commands = handOverCommands(handOvers);
  if (commands.length > 0)
    process.stderr.write(
      `to take over the existing Secrets, which stay meanwhile:\n${commands.map((command) => `  ${printable(command)}\n`).join("")}`,
    );
  process.exitCode = problems.length === 0 ? 0 : HAS_PROBLEMS;
}
