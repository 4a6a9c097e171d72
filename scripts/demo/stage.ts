import type { Redacted } from "../../src/lib/redacted.ts";
import type { ControlPlane } from "../../test/control-plane/control-plane.ts";
import type { ClusterView } from "./cluster-view.ts";
import type { DemoArguments } from "./arguments.ts";
import type { Program } from "./program.ts";
import type { VaultAccount } from "./vault-account.ts";
import type { VaultContent } from "./vault-content.ts";

/** Everything that runs and is ready before the story begins. */
export interface Stage {
  readonly options: DemoArguments;
  readonly controlPlane: ControlPlane;
  readonly operator: { readonly program: Program; readonly url: string; readonly logFile: string };
  readonly vault: {
    readonly program: Program;
    readonly url: string;
    readonly logFile: string;
    readonly password: Redacted<string>;
    readonly account: VaultAccount;
    readonly content: VaultContent;
  };
  readonly view: ClusterView;
  /** Aborted by Ctrl-C, and when one of the programs ends by itself. */
  readonly signal: AbortSignal;
}

/** The namespace of examples/demo. */
export const demoNamespace = "vaultsync-demo";
