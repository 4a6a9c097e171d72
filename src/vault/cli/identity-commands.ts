import { type Command, InvalidArgumentError, Option } from "commander";
import { unlimitedScope, formatScope } from "../../protocol/scope.ts";
import { dataOption, addMasterKeyOptions } from "./data-options.ts";
import type { AddIdentityFlags, IdentityRefFlags } from "./identity.ts";
import type { DataFlags } from "./user.ts";

/** Returns the subject of a ServiceAccount. @throws InvalidArgumentError */
export function subjectOfServiceAccount(text: string): string {
  const name = "[a-z0-9]([-.a-z0-9]*[a-z0-9])?";
  if (!new RegExp(`^${name}/${name}$`, "u").test(text))
    throw new InvalidArgumentError("expected NAMESPACE/NAME, for example shop/vaultsync");
  return `system:serviceaccount:${text.replace("/", ":")}`;
}

/** @throws InvalidArgumentError */
function parseSubject(text: string): string {
  if (text !== "" && !/[\s\p{C}]/u.test(text)) return text;
  throw new InvalidArgumentError("expected the claim sub of a token, without spaces");
}

/** Adds the options that name one identity. */
const addRefOptions = (command: Command): Command =>
  command
    .requiredOption("--issuer <url>", "issuer of the tokens, as `vault serve` names it")
    .addOption(
      new Option("--service-account <namespace/name>", "ServiceAccount of Kubernetes")
        .argParser(subjectOfServiceAccount)
        .conflicts("subject"),
    )
    .addOption(
      new Option(
        "--subject <sub>",
        "subject of the tokens of another workload, instead of --service-account",
      ).argParser(parseSubject),
    )
    .addOption(dataOption().makeOptionMandatory());

const HELP = `
Servers can keep running. The tokens of an identity end with it, and a day after
each login at the latest. Adding an identity again replaces its account and
scope, and ends its tokens.

Examples:
  vaultsync vault identity add shop@example.com \\
    --issuer https://kubernetes.default.svc.cluster.local \\
    --service-account shop/vaultsync \\
    --data vault.db --master-key-file master.key
  vaultsync vault identity remove \\
    --issuer https://kubernetes.default.svc.cluster.local \\
    --service-account shop/vaultsync --data vault.db`;

/** Adds `vaultsync vault identity`. Each of its commands loads its action when it runs. */
export function addIdentityCommands(vault: Command): void {
  const identities = vault
    .command("identity")
    .description("Manage the workloads that log in with tokens of their platform.");
  const add = addRefOptions(
    identities
      .command("add")
      .description("Let a workload log in to an account without a password.")
      .argument("<email>", "email of the account"),
  );
  addMasterKeyOptions(add, "file with the master key of the data: it authenticates identities")
    .addOption(
      new Option("--scope <scope>", "what the tokens may reach at most").default(
        formatScope(unlimitedScope),
        "every secret",
      ),
    )
    .addHelpText("after", HELP)
    .action(async (email: string, flags: AddIdentityFlags, command: Command) =>
      (await import("./identity.ts")).addIdentity(email, flags, command),
    );
  identities
    .command("list")
    .description(
      "List the identities, one per line: account, issuer, subject and scope, after tabs.",
    )
    .addOption(dataOption().makeOptionMandatory())
    .action(async (flags: DataFlags, command: Command) =>
      (await import("./identity.ts")).listIdentities(flags, command),
    );
  addRefOptions(
    identities
      .command("remove")
      .description("Reject the logins of a workload, and end its tokens."),
  ).action(async (flags: IdentityRefFlags, command: Command) =>
    (await import("./identity.ts")).removeIdentity(flags, command),
  );
}
