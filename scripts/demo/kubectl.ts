import type { Redacted } from "../../src/lib/redacted.ts";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import type { ControlPlane } from "../../test/lab/control-plane/control-plane.ts";

/** The namespace of examples/demo. */
export const demoNamespace = "vaultsync-demo";

/**
 * Runs kubectl as the administrator with `input` as standard input. Returns standard output.
 * @throws Error with kubectl's message
 */
export async function kubectl(
  controlPlane: ControlPlane,
  args: readonly string[],
  input?: string,
): Promise<string> {
  const limited = ["--request-timeout=20s", ...args];
  const { code, stdout, stderr } = await controlPlane.kubectl(
    limited,
    input === undefined ? {} : { input },
  );
  if (code !== 0)
    throw new Error(`kubectl ${args.join(" ")} failed with exit code ${code}: ${stderr.trim()}`);
  return stdout;
}

/**
 * Returns the Secret that examples/demo/10-connection.yaml refers to, for `kubectl create -f -`:
 * never on a command line.
 */
export function loginSecret(password: Redacted<string>): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "vault-login", namespace: demoNamespace },
    type: CREDENTIALS_TYPE,
    stringData: { password: password.reveal() },
  });
}
