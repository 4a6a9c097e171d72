import { join } from "node:path";
import { inject } from "vitest";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { runToEnd } from "../../lab/processes/run-to-end.ts";

const comparison = z.object({ modified: z.boolean(), live: z.unknown(), predicted: z.unknown() });
const ways = z.object({ threeWay: comparison, structured: comparison, serverSide: comparison });

/** The results of Argo CD's ways to compare an object. */
export type Comparisons = z.output<typeof ways>;

/** Compares objects of a cluster with their manifests, as Argo CD does. */
export async function compareAsArgo(
  plane: ControlPlane,
  pairs: readonly { readonly config: unknown; readonly live: unknown }[],
): Promise<Comparisons[]> {
  const program = join(inject("gitOpsPrograms").argo, "argo-diff");
  const env = { KUBECONFIG: plane.kubeconfigPath };
  const input = pairs.map((pair) => `${JSON.stringify(pair)}\n`).join("");
  const { stdout, stderr } = await runToEnd(program, [], { env, input });
  if (stderr !== "") throw new Error(stderr);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => ways.parse(JSON.parse(line)));
}
