import { Command } from "commander";
import { operatorCommand } from "./operator.ts";
import { vaultCommand } from "./vault/vault.ts";

/** The whole command line. Wrong usage is thrown as CommanderError. */
export function program(): Command {
  return new Command("vaultsync")
    .description("Keeps Kubernetes Secrets and ConfigMaps in step with a secrets and files vault.")
    .exitOverride()
    .addCommand(operatorCommand())
    .addCommand(vaultCommand());
}
