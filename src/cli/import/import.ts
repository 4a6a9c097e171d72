import { Command } from "commander";
import { stringify } from "yaml";
import { API_GROUP, vaultSecretKind } from "../../operator/api/kinds.ts";
import { ADOPT_ANNOTATION } from "../../operator/api/names.ts";
import { type Manifest, type Problem, problemAt, readManifests, sortProblems } from "../manifests/manifests.ts";
import { printable } from "../output/printable.ts";
import { convertExternalSecret, type ConvertedSecret } from "./convert-external-secret.ts";

interface ImportFlags {
  readonly filename: string[];
  readonly namespace: string;
}

const GROUP = "external-secrets.io";
/** Exit code if something cannot be carried over; 1 and 2 are a failure and wrong usage. */
const HAS_PROBLEMS = 3;

/** The objects that have no counterpart in a file, and what to do about them. */
const remedies: Readonly<Record<string, string>> = {
  SecretStore: `create a VaultConnection of this name (docs/resources.md)`,
  ClusterSecretStore: `create a ClusterVaultConnection of this name (docs/resources.md)`,
  ClusterExternalSecret: `create a ${vaultSecretKind.kind} in each namespace`,
  PushSecret: "create a VaultPush (docs/resources.md)",
};

/**
 * Returns the commands that hand over an existing Secret, which only its owner may do: the former operator lets go of it without its
 * deletion, and this one may take it.
 */
function adoptCommands({ name, namespace }: Manifest, { target, isMerged }: ConvertedSecret): string[] {
  const release = `kubectl delete externalsecret ${name} -n ${namespace} --cascade=orphan`;
  const adopt = `kubectl annotate secret ${target} -n ${namespace} ${ADOPT_ANNOTATION}=${vaultSecretKind.kind}/${name}`;
  return isMerged ? [release] : [release, adopt];
}

async function importExternalSecrets({ filename, namespace }: ImportFlags): Promise<void> {
  const { manifests, problems: unreadable } = await readManifests(filename, GROUP, namespace);
  const problems: Problem[] = [...unreadable];
  const commands: string[] = [];
  for (const manifest of manifests) {
    if (manifest.kind !== "ExternalSecret") {
      const remedy = remedies[manifest.kind] ?? "it has no counterpart";
      problems.push(problemAt(manifest, ["kind"], `${manifest.kind} ${manifest.name} is not converted: ${remedy}`));
      continue;
    }
    const converted = convertExternalSecret(manifest, (path, message) => problems.push(problemAt(manifest, path, message)));
    commands.push(...adoptCommands(manifest, converted));
    process.stdout.write(`---\n${stringify(converted.object)}`);
  }
  if (manifests.length === 0 && problems.length === 0) throw new Error(`no ${GROUP} objects in ${filename.join(", ")}`);
  for (const { file, line, message } of sortProblems(problems))
    process.stderr.write(`${printable(`${file}:${line}: ${message}`)}\n`);
  if (commands.length > 0)
    process.stderr.write(
      `to take over the existing Secrets, which stay meanwhile:\n${commands.map((command) => `  ${printable(command)}\n`).join("")}`,
    );
  process.exitCode = problems.length === 0 ? 0 : HAS_PROBLEMS;
}

/** Returns the definition of `vaultsync import`, whose commands convert the resources of other operators. They only read files. */
export function importCommand(): Command {
  const externalSecrets = new Command("external-secrets")
    .description(
      `Convert ExternalSecrets to ${vaultSecretKind.plural}.${API_GROUP}, printed as YAML. What cannot be carried over is printed as FILE:LINE: message, and the exit code is then ${HAS_PROBLEMS}.`,
    )
    .requiredOption("-f, --filename <path...>", "files and directories of manifests")
    .option("-n, --namespace <name>", "namespace of objects without one", "default")
    .action(importExternalSecrets);
  return new Command("import").description("Convert resources of another operator.").addCommand(externalSecrets);
}
