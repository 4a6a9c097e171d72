import { InvalidArgumentError, Option } from "commander";
import { defaultQuotas, type QuotaName, type Quotas } from "../../vault-server/quota-limits.ts";

function isQuotaName(name: string): name is QuotaName {
  return Object.hasOwn(defaultQuotas, name);
}

/** Parses `secrets=1000,bytes=1073741824`; quotas that it does not name have their defaults. @throws InvalidArgumentError */
export function parseQuotas(text: string): Quotas {
  const quotas: Record<QuotaName, number> = { ...defaultQuotas };
  for (const entry of text.split(",")) {
    const [name = "", amount = ""] = entry.trim().split("=", 2);
    if (!isQuotaName(name) || !/^[0-9]{1,15}$/u.test(amount)) {
      throw new InvalidArgumentError(`expected NAME=N, comma-separated, with names of ${Object.keys(defaultQuotas).join(", ")}`);
    }
    quotas[name] = Number(amount);
  }
  return quotas;
}

/** Returns the option `--quotas`. */
export function quotasOption(): Option {
  return new Option("--quotas <name=n,...>", "maximum amounts of one account, for example secrets=1000,bytes=1073741824")
    .env("VAULTSYNC_VAULT_QUOTAS")
    .argParser(parseQuotas);
}
