import { parseArgs } from "node:util";

export interface DemoArguments {
  /** Without a cluster. */
  readonly local: boolean;
  readonly once: boolean;
  readonly verbose: boolean;
  readonly vaultPort: number;
  readonly help: boolean;
}

/** The port in examples/demo/10-connection.yaml. */
export const defaultVaultPort = 8200;

export const help = `Start a Kubernetes API server, the reference vault and the operator on loopback addresses, apply examples/demo/ and
show each change as it happens. Everything is removed at the end, also after Ctrl-C.

Usage: npm run demo [-- --once] [-- --verbose] [-- --vault-port PORT]
       npm run demo -- --local
       npm run -s demo -- fill      fill a running vault, for "Manual setup" in README.md

  --local            without a cluster, in seconds: a vault, a manifest, and a program with its values
  --once             exit after the last step: 0, or 1 with the failed step (130 after Ctrl-C)
  --verbose          every change with its time, and what each step expects
  --vault-port PORT  port of the vault (default ${defaultVaultPort}, the port in examples/demo/10-connection.yaml; with another port
                     the demo replaces it in the text of that file before applying it)
  --help             show this help

Colors are used on a terminal only; NO_COLOR=1 disables them.
The first run needs Go 1.26 or later, or KUBEBUILDER_ASSETS; see "npm run control-plane -- --help".
`;

/** Parses the command line. @throws Error that says what is wrong and what is expected */
export function parseDemoArguments(argv: readonly string[]): DemoArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      local: { type: "boolean" },
      once: { type: "boolean" },
      verbose: { type: "boolean", short: "v" },
      "vault-port": { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  const port = values["vault-port"] ?? String(defaultVaultPort);
  if (!/^[0-9]{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw new Error(`--vault-port: expected a port from 1 to 65535, got "${port}"`);
  }
  return {
    local: values.local ?? false,
    once: values.once ?? false,
    verbose: values.verbose ?? false,
    vaultPort: Number(port),
    help: values.help ?? false,
  };
}
