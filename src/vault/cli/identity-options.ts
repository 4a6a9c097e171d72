import { type Command, InvalidArgumentError, Option } from "commander";
import { isLoopback } from "../../lib/loopback.ts";
import type { IdentityOptions, IssuerOptions } from "../server/identities/identity-issuers.ts";

/** Flags of the identities that a server accepts, as commander collects them. */
export interface IdentityFlags {
  readonly identityIssuers?: readonly IssuerOptions[];
  readonly identityAudiences?: readonly string[];
}

/** Reports whether keys may be read from a URL: a changed response would forge identities. */
function isSafe(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}

/**
 * Parses `https://issuer.example.com=jwks.json,…`. @throws InvalidArgumentError
 */
export function parseIssuers(text: string): IssuerOptions[] {
  const issuers = text.split(",").map((entry) => {
    const [issuer = "", ...rest] = entry.trim().split("=");
    const keys = rest.join("=");
    if (issuer === "" || keys === "")
      throw new InvalidArgumentError(
        "expected ISSUER=KEYS, comma-separated; KEYS is the file or https URL of a JWKS",
      );
    const url = /^[a-z]+:\/\//u.test(keys) ? URL.parse(keys) : undefined;
    if (url === null || (url !== undefined && !isSafe(url)))
      throw new InvalidArgumentError(
        "expected a file or an https URL of the keys: changed ones would forge identities",
      );
    return { issuer, keys };
  });
  if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length)
    throw new InvalidArgumentError("expected each issuer once");
  return issuers;
}

function parseAudiences(text: string): string[] {
  const audiences = text.split(",").map((one) => one.trim());
  if (audiences.includes("")) throw new InvalidArgumentError("expected audiences, comma-separated");
  return audiences;
}

export function addIdentityOptions(command: Command): void {
  command
    .addOption(
      new Option(
        "--identity-issuers <issuer=keys,...>",
        "issuers of workloads' tokens, each with the file or https URL of its JWKS (default: none)",
      )
        .env("VAULTSYNC_VAULT_IDENTITY_ISSUERS")
        .argParser(parseIssuers),
    )
    .addOption(
      new Option(
        "--identity-audiences <names>",
        "audiences of these tokens, comma-separated: the URLs of this server, as clients write them",
      )
        .env("VAULTSYNC_VAULT_IDENTITY_AUDIENCES")
        .argParser(parseAudiences),
    );
}

/** Returns the error of the flags, or `undefined`. */
export function identityError({
  identityIssuers,
  identityAudiences,
}: IdentityFlags): string | undefined {
  if ((identityIssuers === undefined) === (identityAudiences === undefined)) return undefined;
  return "--identity-issuers and --identity-audiences require each other";
}

export function identityOptions({ identityIssuers, identityAudiences }: IdentityFlags): {
  readonly identities?: IdentityOptions;
} {
  if (identityIssuers === undefined || identityAudiences === undefined) return {};
  return { identities: { issuers: identityIssuers, audiences: identityAudiences } };
}
