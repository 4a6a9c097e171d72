import { parseArgs } from "node:util";

export interface DemoArguments {
  readonly once: boolean;
  readonly vaultPort: number;
  readonly help: boolean;
}

/** The port that examples/demo/10-connection.yaml names. */
export const defaultVaultPort = 8200;

export const help = `Starts a real Kubernetes API server, the reference vault and the operator on this machine's loopback, applies the
files of examples/demo/ and shows what happens as it happens. Everything is removed at the end, also after Ctrl-C.

Usage: npm run demo [-- --once] [-- --vault-port PORT]

  --once             end after the story: exit code 0, or 1 with the step that failed (130 after Ctrl-C)
  --vault-port PORT  where the vault listens (default ${defaultVaultPort}, the port in examples/demo/10-connection.yaml; with another
                     one the demo puts that into the file's text before it applies it)
  --help             show this

Colours are for terminals only; NO_COLOR=1 turns them off.
The first run needs Go 1.26 or later, or KUBEBUILDER_ASSETS: see "npm run control-plane -- --help".
`;

/** @throws Error that says what is wrong */
export function parseDemoArguments(argv: readonly string[]): DemoArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: { once: { type: "boolean" }, "vault-port": { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  const port = values["vault-port"] ?? String(defaultVaultPort);
  if (!/^[0-9]{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw new Error("--vault-port takes a port from 1 to 65535");
  }
  return { once: values.once ?? false, vaultPort: Number(port), help: values.help ?? false };
}
