import type { Redacted } from "../../src/lib/redacted.ts";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { demoNamespace } from "./stage.ts";

/** The Secret that examples/demo/10-connection.yaml names, as a manifest for `kubectl create -f -`: never on a command line. */
export function loginSecret(password: Redacted<string>): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "vault-login", namespace: demoNamespace },
    type: CREDENTIALS_TYPE,
    stringData: { password: password.reveal() },
  });
}
