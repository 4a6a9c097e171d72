import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { runToEnd } from "../../lab/processes/run-to-end.ts";
import { goTool } from "../../lab/tools/go-tool.ts";

const DIRECTORY = "../../../deploy/gitops/argocd";
const script = join(import.meta.dirname, `${DIRECTORY}/health.lua`);
const verdict = z.object({ status: z.string(), message: z.string() });
const health = z.object({ kstatus: verdict, argo: verdict });
export type Health = z.output<typeof health>;

/**
 * Returns the health of objects as Flux (kstatus) and Argo CD (the script of
 * `deploy/gitops/argocd`) determine it.
 */
export async function healthOf(objects: readonly unknown[]): Promise<Health[]> {
  return (await evaluate([script], objects)).map((result) => health.parse(result));
}

const actionsFile = z.object({
  "discovery.lua": z.string(),
  definitions: z.array(z.object({ name: z.string(), "action.lua": z.string() })),
});
const discovered = z.record(z.string(), z.object({ disabled: z.boolean() }));

/** The actions that Argo CD offers for an object, and the object after an action. */
export interface Actions {
  readonly enabled: readonly string[];
  readonly after: (name: string) => Promise<unknown>;
}

/** Returns the actions of `deploy/gitops/argocd` for an object. */
export async function actionsOf(object: unknown): Promise<Actions> {
  const yaml = await readFile(join(import.meta.dirname, `${DIRECTORY}/actions.yaml`), "utf8");
  const { definitions, ...file } = actionsFile.parse(parse(yaml));
  const run = async (lua: string) => (await evaluate([], [{ object, script: lua }]))[0];
  const found = discovered.parse(await run(file["discovery.lua"]));
  return {
    enabled: Object.keys(found).filter((name) => found[name]?.disabled === false),
    after: (wanted) =>
      run(definitions.find(({ name }) => name === wanted)?.["action.lua"] ?? "no such action"),
  };
}

/** Returns what the program prints for each line. */
async function evaluate(args: readonly string[], lines: readonly unknown[]): Promise<unknown[]> {
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const { stdout, stderr } = await runToEnd(await goTool("health"), args, { input });
  if (stderr !== "") throw new Error(stderr);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line));
}
