import type { Command } from "commander";
import { doctorCommand } from "./operator/cli/doctor.ts";
import { fileCommand } from "./vault/cli/account/file.ts";
import { loginCommand, logoutCommand } from "./vault/cli/account/login.ts";
import { secretCommand } from "./vault/cli/account/secret.ts";
import { completionCommand } from "./command-line/completion/completion.ts";
import { importCommand } from "./operator/cli/import/import.ts";
import { operatorCommand } from "./operator/cli/operator.ts";
import { planCommand } from "./operator/cli/plan/plan.ts";
import { releaseCommand } from "./operator/cli/release/release.ts";
import { rootCommand } from "./command-line/root-command.ts";
import { statusCommand } from "./operator/cli/status/status.ts";
import { syncCommand } from "./operator/cli/sync.ts";
import { vaultCommand } from "./vault/cli/vault.ts";

/**
 * Returns the definition of the whole command line, which throws CommanderError for wrong usage.
 */
export function program(): Command {
  const account = [loginCommand(), logoutCommand(), secretCommand(), fileCommand()];
  return rootCommand([
    operatorCommand(),
    statusCommand(),
    syncCommand(),
    planCommand(),
    doctorCommand(),
    importCommand(),
    releaseCommand(),
    ...account,
    vaultCommand(),
    completionCommand(),
  ]);
}
