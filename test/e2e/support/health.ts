import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { goTool } from "../../lab/tools/go-tool.ts";

const script = join(import.meta.dirname, "../../../deploy/gitops/argocd/health.lua");
const verdict = z.object({ status: z.string(), message: z.string() });
const health = z.object({ kstatus: verdict, argo: verdict });
export type Health = z.output<typeof health>;

/**
 * Returns the health of objects as Flux (kstatus) and Argo CD (the script of
 * `deploy/gitops/argocd`) determine it.
 */
export async function healthOf(objects: readonly unknown[]): Promise<Health[]> {
  const child = spawn(await goTool("health"), [script], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(objects.map((object) => `${JSON.stringify(object)}\n`).join(""));
  const [lines, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (errors !== "") throw new Error(errors);
  return lines
    .split("\n")
    .filter(Boolean)
    .map((line) => health.parse(JSON.parse(line)));
}
