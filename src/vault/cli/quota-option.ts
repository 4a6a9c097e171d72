import { InvalidArgumentError, Option } from "commander";
import { defaultQuotas, type QuotaName, type Quotas } from "../server/limits.ts";

function isQuotaName(name: string): name is QuotaName {
  return Object.hasOwn(defaultQuotas, name);
}

/**
 * Parses `secrets=1000,bytes=1073741824`; quotas that it does not name have their defaults. @throws
 * InvalidArgumentError
 */
export function parseQuotas(text: string): Quotas {
  const quotas: Record<QuotaName, number> = { ...defaultQuotas };
  for (const entry of text.split(",")) {
    const [name = "", amount = ""] = entry.trim().split("=", 2);
    if (!isQuotaName(name) || !/^[0-9]{1,15}$/u.test(amount)) {
      throw new InvalidArgumentError(
        `expected NAME=N, comma-separated, with names of ${Object.keys(defaultQuotas).join(", ")}`,
      );
    }
    quotas[name] = Number(amount);
  }
  return quotas;
}

/** Returns the option `--quotas`. */
export function quotasOption(): Option {
  return new Option(
    "--quotas <name=n,...>",
    "maximum amounts of one account, for example secrets=1000,bytes=1073741824",
  )
    .env("VAULTSYNC_VAULT_QUOTAS")
    .argParser(parseQuotas);
}

/** @throws InvalidArgumentError */
function parseDays(text: string): number {
  if (/^[0-9]{1,4}$/u.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a number of days from 0 to 9999");
}

/** Returns the option `--trash-days`. */
export function trashDaysOption(): Option {
  return new Option(
    "--trash-days <days>",
    "days for which deleted secrets and files can be restored; 0 deletes them immediately",
  )
    .env("VAULTSYNC_VAULT_TRASH_DAYS")
    .argParser(parseDays)
    .default(30);
}

/** @throws InvalidArgumentError */
function parseVersions(text: string): number {
  if (/^[1-9][0-9]{0,8}$/u.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a number of at least 1");
}

/** Returns the option `--keep-versions`. */
export function keepVersionsOption(): Option {
  return new Option(
    "--keep-versions <n>",
    "versions of a secret that are kept; each new one removes the oldest (default: all)",
  )
    .env("VAULTSYNC_VAULT_KEEP_VERSIONS")
    .argParser(parseVersions);
}
