import { Command } from "commander";
import { API_GROUP } from "../../operator/api/kinds.ts";
import { type AccountFlags, addAccountOption, openAccount } from "../account/account-option.ts";
import { addFormatOption, type FormatFlags, formatObject } from "../output/format-option.ts";
import { printable } from "../output/printable.ts";
import { formatTable } from "../output/table.ts";
import { checkClusterRules } from "./check-cluster-rules.ts";
import { checkTemplates } from "./check-templates.ts";
import { checkReferences, type CheckedReferences } from "./check-references.ts";
import { type Problem, readManifests, sortProblems } from "../manifests/manifests.ts";
import { keyOfConnection, planOf, type Plan, type PlannedItem } from "./planned-resource.ts";

interface PlanFlags extends AccountFlags, FormatFlags {
  readonly filename: string[];
  readonly namespace: string;
  readonly offline?: boolean;
}

/** Exit code if the manifests have a problem; 1 and 2 are a failure and wrong usage. */
const HAS_PROBLEMS = 3;
const OFFLINE: CheckedReferences = { problems: [], found: new Map(), versions: new Map(), unchecked: [] };

/** One key of a target or one entry of the vault that would be written, or one variable of its template, as `{{ name }}`. */
interface PlannedKey {
  readonly resource: string;
  readonly namespace: string;
  readonly target: string;
  readonly key: string;
  readonly source: string;
  /** Absent if the vault was not asked, or has no such version. */
  readonly version?: number | undefined;
}

function plannedKeys({ resources, pushes }: Plan, { found, versions }: CheckedReferences): PlannedKey[] {
  const pushed = pushes.flatMap(({ manifest, secret, items }) =>
    items.map(({ key, entry }) => ({
      resource: `vaultpush/${manifest.name}`,
      namespace: manifest.namespace,
      target: `vault ${entry}`,
      key,
      source: `Secret/${secret}`,
    })),
  );
  const written = resources.flatMap((resource) => {
    const { manifest, target, items, finds, template } = resource;
    const rules = finds.map(({ id, pattern, path }): PlannedItem => ({ key: id, source: pattern, path }));
    return [...items, ...(found.get(resource) ?? rules)].map((item) => ({
      resource: `${manifest.kind.toLowerCase()}/${manifest.name}`,
      namespace: manifest.namespace,
      target: `${target.kind}/${target.name}`,
      key: template === undefined ? item.key : `{{ ${item.key} }}`,
      source: item.source,
      version: versions.get(item),
    }));
  });
  return [...written, ...pushed];
}

function print(keys: readonly PlannedKey[], problems: readonly Problem[], { output }: PlanFlags): void {
  if (output !== "table") process.stdout.write(formatObject({ keys, problems }, output));
  else {
    const header = ["NAMESPACE", "RESOURCE", "TARGET", "KEY", "SOURCE", "VERSION"];
    const rows = keys.map((one) => [one.namespace, one.resource, one.target, one.key, one.source, String(one.version ?? "-")]);
    if (rows.length > 0) process.stdout.write(formatTable(header, rows));
    for (const { file, line, message } of problems) process.stderr.write(`${printable(`${file}:${line}: ${message}`)}\n`);
  }
}

async function plan(flags: PlanFlags): Promise<void> {
  const { manifests, problems } = await readManifests(flags.filename, API_GROUP, flags.namespace);
  if (manifests.length === 0 && problems.length === 0)
    throw new Error(`no vaultsync.dev objects in ${flags.filename.join(", ")}`);
  const found = [...problems];
  const planned = planOf(manifests, found);
  found.push(...checkClusterRules(manifests, planned), ...checkTemplates(planned.resources));
  const checked = flags.offline === true ? OFFLINE : await checkReferences(await openAccount(flags), planned);
  found.push(...checked.problems);
  print(plannedKeys(planned, checked), sortProblems(found), flags);
  for (const connection of checked.unchecked) {
    const { kind, spec } = connection;
    const login = `log in to ${spec.url} as ${spec.email}`;
    process.stderr.write(`references of ${kind} ${keyOfConnection(connection)} are not checked: ${login}\n`);
  }
  process.exitCode = found.length === 0 ? 0 : HAS_PROBLEMS;
}

/** Returns the definition of `vaultsync plan`, which reads files and the lists of the vault. */
export function planCommand(): Command {
  return addFormatOption(addAccountOption(new Command("plan")))
    .description(
      `Check manifests before they are applied, and print what would be written where: names and versions, never values. Each problem is printed as FILE:LINE: message, and the exit code is then ${HAS_PROBLEMS}. Uses the account of vaultsync login.`,
    )
    .requiredOption("-f, --filename <path...>", "files and directories of manifests")
    .option("-n, --namespace <name>", "namespace of objects without one", "default")
    .option("--offline", "do not compare the references with the vault")
    .action(plan);
}
