import type { Redacted } from "../../../lib/redacted.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import type { Problem } from "../manifests/manifest.ts";
import type { LocalPlan } from "./local-plan.ts";
import {
  type Decided,
  decideTargets,
  type LocalTarget,
  makeTargets,
  versionsOf,
} from "./local-targets.ts";
import type { MaskedValue } from "./mask/masked-forms.ts";
import { directoryProblems } from "./target-files.ts";
import { isOfEnvironment, type Variables, variablesOf } from "./variables.ts";

/** Variables and files of a command. */
export interface Values {
  readonly variables: Variables;
  /** Targets whose keys are files. */
  readonly files: readonly LocalTarget[];
  readonly masked: readonly MaskedValue[];
}

interface Refused {
  readonly problems: readonly Problem[];
}

/** Returns the bytes of all keys of targets, by the place of the key. */
const keysOf = (targets: readonly LocalTarget[]): ReadonlyMap<string, Uint8Array> =>
  new Map(
    targets.flatMap(({ resource, content }) =>
      [...content].map(
        ([key, bytes]) =>
          [`${resource.target.kind}/${resource.target.name}/${key}`, bytes] as const,
      ),
    ),
  );

function isSame(one: readonly LocalTarget[], other: readonly LocalTarget[]): boolean {
  const [ones, others] = [keysOf(one), keysOf(other)];
  return (
    ones.size === others.size &&
    [...ones].every(([key, bytes]) => {
      const same = others.get(key);
      return same !== undefined && Buffer.compare(bytes, same) === 0;
    })
  );
}

/** The values of a plan, as the vault has them. */
export class LocalValues {
  /** Reports of the operator next to what it writes. */
  notes: ReadonlySet<string> = new Set();
  readonly #plan: LocalPlan;
  readonly #client: VaultClient;
  readonly #key: Redacted<Uint8Array>;
  #versions = "";
  #targets: readonly LocalTarget[] = [];

  constructor(plan: LocalPlan, client: VaultClient, key: Redacted<Uint8Array>) {
    this.#plan = plan;
    this.#client = client;
    this.#key = key;
  }

  /** Reads the values. @throws Error when the vault cannot be read */
  async read(signal: AbortSignal): Promise<Values | Refused> {
    const decided = await decideTargets(this.#plan, this.#client);
    return this.#made(decided, signal);
  }

  /**
   * Reads the values if the lists of the vault have changed. Returns `undefined` if the values are
   * the same. @throws Error when the vault cannot be read
   */
  async changed(signal: AbortSignal): Promise<Values | Refused | undefined> {
    const decided = await decideTargets(this.#plan, this.#client);
    if (decided.problems.length > 0) return decided;
    if (versionsOf(decided) === this.#versions) return undefined;
    const before = this.#targets;
    const made = await this.#made(decided, signal);
    return "variables" in made && isSame(before, this.#targets) ? undefined : made;
  }

  async #made(decided: Decided, signal: AbortSignal): Promise<Values | Refused> {
    if (decided.problems.length > 0) return decided;
    const { targets, problems } = await makeTargets(decided.targets, this.#key, signal);
    if (problems.length > 0) return { problems };
    const { variables, problems: ofVariables } = variablesOf(targets, "process");
    const files = targets.filter(({ resource }) => !isOfEnvironment(resource));
    const refused = [...ofVariables, ...directoryProblems(files)];
    if (refused.length > 0) return { problems: refused };
    this.notes = decided.notes;
    this.#versions = versionsOf(decided);
    this.#targets = targets;
    const masked = targets.flatMap(({ resource, content }) =>
      [...content.values()].map((bytes) => ({
        bytes,
        hasSecretLines: resource.target.kind === "Secret",
      })),
    );
    return { variables, files, masked };
  }
}
