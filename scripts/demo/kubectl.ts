import type { ControlPlane } from "../../test/control-plane/control-plane.ts";

/** Runs kubectl as the administrator; `input` is its standard input. @throws Error with what kubectl says when it fails */
export async function kubectl(controlPlane: ControlPlane, args: readonly string[], input?: string): Promise<string> {
  const limited = ["--request-timeout=20s", ...args];
  const { code, stdout, stderr } = await controlPlane.kubectl(limited, input === undefined ? {} : { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} fails with exit code ${code}: ${stderr.trim()}`);
  return stdout;
}
