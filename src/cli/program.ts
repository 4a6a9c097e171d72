import type { Command } from "commander";
import { doctorCommand } from "./doctor/doctor.ts";
import { fileCommand } from "./account/file.ts";
import { loginCommand, logoutCommand } from "./account/login.ts";
import { secretCommand } from "./account/secret.ts";
import { completionCommand } from "./completion/completion.ts";
import { importCommand } from "./import/import.ts";
import { operatorCommand } from "./operator.ts";
import { planCommand } from "./plan/plan.ts";
import { releaseCommand } from "./release/release.ts";
import { rootCommand } from "./root-command.ts";
import { statusCommand } from "./status/status.ts";
import { syncCommand } from "./sync/sync.ts";
import { vaultCommand } from "./vault/vault.ts";

/** Returns the definition of the whole command line, which throws CommanderError for wrong usage. */
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
