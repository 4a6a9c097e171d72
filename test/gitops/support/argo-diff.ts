import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";

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
  const env = { ...process.env, KUBECONFIG: plane.kubeconfigPath };
  const child = spawn(program, { env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(""));
  const [printed, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (errors !== "") throw new Error(errors);
  return printed
    .split("\n")
    .filter(Boolean)
    .map((line) => ways.parse(JSON.parse(line)));
}
