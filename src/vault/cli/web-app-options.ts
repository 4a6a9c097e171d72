import { InvalidArgumentError, Option, type Command } from "commander";
import type { SignUpMode } from "../../protocol/schemas/session.ts";
import { parseIpNetwork } from "../server/http/ip-networks.ts";
import type { VaultServerOptions } from "../server/vault-server.ts";
import { isLoopback } from "../../lib/loopback.ts";

/** Web application flags as commander collects them. */
export interface WebAppFlags {
  /** Origin, without a trailing slash. */
  readonly appUrl?: string;
  /** Host names in lower case, also `*.` and a domain. */
  readonly allowedHosts?: readonly string[];
  /** IP addresses and networks. */
  readonly trustProxy?: readonly string[];
  readonly proxyProtocol?: boolean;
  readonly signUp: SignUpMode;
  /** In lower case. */
  readonly signUpDomains?: readonly string[];
}

/**
 * Parses the URL of a host and returns its origin. @throws InvalidArgumentError when it has a path,
 * a query or a user
 */
export function parseAppUrl(text: string): string {
  const url = URL.parse(text);
  // A URL with a path, a query or a user is longer than its origin.
  if (url && /^https?:$/u.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new InvalidArgumentError(
    "expected https://HOST or https://HOST:PORT, without a path, a query or a user",
  );
}

/** Parses comma-separated IP addresses and networks. @throws InvalidArgumentError */
export function parseTrustedProxies(text: string): string[] {
  return text.split(",").map((entry) => {
    if (parseIpNetwork(entry.trim()) !== undefined) return entry.trim();
    throw new InvalidArgumentError(
      "expected comma-separated addresses or networks, for example 10.0.0.0/8,fd00::/8; /0 is not allowed",
    );
  });
}

const LABEL = /^[\p{L}\p{M}\p{N}-]+$/u;

/**
 * A host name as browsers send it, in ASCII; its last label is no number, so it is not an IPv4
 * address.
 */
const HOST = /^(?:\*\.)?(?:[a-z0-9_-]+\.)*[a-z0-9_-]*[a-z_-][a-z0-9_-]*$/u;

/** Parses comma-separated domains and returns them in lower case. @throws InvalidArgumentError */
export function parseDomains(text: string): string[] {
  return text.split(",").map((entry) => {
    const domain = entry.trim().toLowerCase();
    if (domain.split(".").every((label) => LABEL.test(label))) return domain;
    throw new InvalidArgumentError(
      "expected comma-separated domains, for example example.com,example.org",
    );
  });
}

/**
 * Parses comma-separated host names, with or without a leading `*.`, and returns them in lower
 * case.
 * @throws InvalidArgumentError
 */
export function parseAllowedHosts(text: string): string[] {
  return text.split(",").map((entry) => {
    const host = entry.trim().toLowerCase();
    if (HOST.test(host)) return host;
    throw new InvalidArgumentError(
      "expected comma-separated host names without a port, for example vault.example.com,*.svc; addresses are always allowed",
    );
  });
}

/** Returns the options of the server that the web application flags set. */
export function webAppOptions(
  flags: WebAppFlags,
): Pick<
  VaultServerOptions,
  "appUrl" | "allowedHosts" | "trustedProxies" | "proxyProtocol" | "signUp"
> {
  const { appUrl, allowedHosts, trustProxy, proxyProtocol, signUp, signUpDomains } = flags;
  return {
    signUp: { mode: signUp, ...(signUpDomains && { domains: signUpDomains }) },
    ...(appUrl !== undefined && { appUrl }),
    ...(allowedHosts && { allowedHosts }),
    ...(trustProxy && { trustedProxies: trustProxy, proxyProtocol: proxyProtocol === true }),
  };
}

export function addWebAppOptions(command: Command): void {
  command
    .addOption(
      new Option(
        "--app-url <url>",
        "public URL of the web application (default: the address it listens on)",
      )
        .env("VAULTSYNC_VAULT_APP_URL")
        .argParser(parseAppUrl),
    )
    .addOption(
      new Option(
        "--allowed-hosts <host,...>",
        "host names of requests, in addition to addresses, localhost and that of --app-url, such as vault.vaultsync.svc,*.example.com",
      )
        .env("VAULTSYNC_VAULT_ALLOWED_HOSTS")
        .argParser(parseAllowedHosts),
    )
    .addOption(
      new Option(
        "--trust-proxy <cidr,...>",
        "addresses of proxies whose x-forwarded-for is trusted (default: none)",
      )
        .env("VAULTSYNC_VAULT_TRUST_PROXY")
        .argParser(parseTrustedProxies),
    )
    .addOption(
      new Option(
        "--proxy-protocol",
        "connections of --trust-proxy begin with a PROXY header, version 1 or 2, instead of x-forwarded-for; others have none",
      ).env("VAULTSYNC_VAULT_PROXY_PROTOCOL"),
    )
    .addOption(
      new Option(
        "--sign-up <mode>",
        "who may sign up: open to anyone, invited by a share or a team, or closed: only `vault user add` adds users",
      )
        .env("VAULTSYNC_VAULT_SIGN_UP")
        .choices(["open", "invited", "closed"] satisfies SignUpMode[])
        .default("invited"),
    )
    .addOption(
      new Option(
        "--sign-up-domains <domain,...>",
        "domains of the addresses that may sign up (default: all)",
      )
        .env("VAULTSYNC_VAULT_SIGN_UP_DOMAINS")
        .argParser(parseDomains),
    );
}

/** Returns the error of contradictory web application flags, or `undefined`. */
export function webAppError(
  flags: Partial<WebAppFlags> & { readonly allowHttpListen?: boolean },
): string | undefined {
  if (flags.proxyProtocol === true && !flags.trustProxy)
    return "--proxy-protocol requires --trust-proxy with the addresses of the load balancers that send a PROXY header";
  if (flags.signUp === "closed" && flags.signUpDomains)
    return "--sign-up-domains has no effect with --sign-up closed: drop one of them";
  return plainHttpError(flags);
}

/** Returns the error of a plain http address that is not a loopback one, or `undefined`. */
function plainHttpError({
  appUrl,
  allowHttpListen,
}: Pick<WebAppFlags, "appUrl"> & { readonly allowHttpListen?: boolean }): string | undefined {
  if (appUrl?.startsWith("http://") !== true || allowHttpListen === true) return undefined;
  const host = new URL(appUrl).hostname.replace(/^\[(.*)\]$/u, "$1");
  if (isLoopback(host)) return undefined;
  return "refusing sessions over plain http on a non-loopback address: specify an https --app-url, or add --allow-http-listen";
}
