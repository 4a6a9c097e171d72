import type { NextValue } from "../../command-line/value-check.ts";
import { systemClock } from "../../lib/clock.ts";
import { findItems, matchesName } from "../sync/find-items.ts";
import { makeContent } from "../sync/make-content.ts";
import { shapeProblem } from "../sync/secret-shape.ts";
import type { SyncResource } from "../sync/sync-resource.ts";
import { withCluster } from "./cluster.ts";
import { saltKey } from "./local/read-targets.ts";
import type { ClusterFlags } from "./options.ts";
import { parsedResource, readResource } from "./read-resource.ts";
import { idOf, type ResourceName } from "./resource-name.ts";

/** Flags of `--for`. */
export interface ForFlags extends ClusterFlags {
  readonly for?: readonly ResourceName[];
}

/**
 * Returns why the operator would not serve a value to a resource; `undefined` if it would. Without
 * the values of its other sources, what a template makes of several is not checked, nor a Secret of
 * several keys whose type requires content.
 * @throws Error when the resource does not follow the latest version of the secret
 */
export async function valueProblem(
  resource: SyncResource,
  { name, version, value }: NextValue,
): Promise<string | undefined> {
  const { items: all } = findItems(resource, {
    now: (find) => (matchesName(find, name) ? [{ name, own: true }] : []),
    earlier: () => [],
    served: () => undefined,
  });
  const items = all.filter(({ source, version: of }) => source === name && of === "latest");
  if (items.length === 0) throw new Error(`it does not follow the latest version of ${name}`);
  const { template, ...rest } = resource;
  const isWhole = items.length === all.length;
  const bytes = Buffer.from(value.reveal());
  const content = await makeContent(
    { ...rest, items, finds: [], template: isWhole ? template : undefined },
    items.map((item) => ({ item, bytes, version })),
    saltKey(),
    systemClock.now(),
  );
  if ("reason" in content) return content.message;
  return isWhole ? shapeProblem(resource, content)?.message : undefined;
}

/** A stop signal ends the process: the command has stored nothing yet. */
const { signal: never } = new AbortController();

/** Checks a value by the rules of the resources that flags name. @throws Error */
export async function problemsOf(next: NextValue, flags: ForFlags): Promise<readonly string[]> {
  const { for: names = [], ...selected } = flags;
  if (names.length === 0) return [];
  return withCluster(selected, async (cluster) => {
    const problems: string[] = [];
    for (const one of names) {
      const resource = parsedResource(await readResource(cluster, one, never));
      const problem = await valueProblem(resource, next).catch((error: Error) => {
        throw new Error(`${idOf(one)}: ${error.message}`, { cause: error });
      });
      if (problem !== undefined) problems.push(`${idOf(one)}: ${problem}`);
    }
    return problems;
  });
}
