import { InvalidArgumentError, Option } from "commander";
import type { VaultServerOptions } from "../server/vault-server.ts";

const DEFAULT_BYTES = 64 * 1024 * 1024;

export interface LowSpaceFlags {
  readonly lowSpace: number;
}

function byteCount(text: string): number {
  if (/^[0-9]{1,15}$/u.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a number of bytes, or 0 to turn it off");
}

export function lowSpaceOption(): Option {
  return new Option(
    "--low-space <bytes>",
    "free disk space below which requests that add data are rejected, and an 8 MiB reserve file is kept; 0 turns it off",
  )
    .env("VAULTSYNC_VAULT_LOW_SPACE")
    .argParser(byteCount)
    .default(DEFAULT_BYTES, "64 MiB");
}

export function lowSpaceOptions({ lowSpace }: LowSpaceFlags): Pick<VaultServerOptions, "lowSpace"> {
  return lowSpace === 0 ? {} : { lowSpace: { bytes: lowSpace } };
}
