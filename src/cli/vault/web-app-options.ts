import { isIP } from "node:net";
import { InvalidArgumentError, Option, type Command } from "commander";
import { isLoopback } from "../listen-address.ts";

/** Web application flags as commander collects them. */
export interface WebAppFlags {
  /** Origin, without a trailing slash. */
  readonly appUrl?: string;
  /** IP addresses and networks. */
  readonly trustProxy?: readonly string[];
}

/** Parses the URL of a host and returns its origin. @throws InvalidArgumentError when it has a path, a query or a user */
export function parseAppUrl(text: string): string {
  const url = URL.parse(text);
  // A URL with a path, a query or a user is longer than its origin.
  if (url && /^https?:$/u.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new InvalidArgumentError("expected https://HOST or https://HOST:PORT, without a path, a query or a user");
}

/** Parses comma-separated IP addresses and networks. @throws InvalidArgumentError */
export function parseTrustedProxies(text: string): string[] {
  return text.split(",").map((entry) => {
    const [address = "", digits, more] = entry.trim().split("/");
    const bits = isIP(address) === 4 ? 32 : 128;
    const prefix = digits === undefined ? bits : Number(digits);
    const fits = /^[0-9]{1,3}$/u.test(digits ?? "0") && prefix >= 1 && prefix <= bits;
    if (isIP(address) !== 0 && fits && more === undefined) return entry.trim();
    throw new InvalidArgumentError(
      "expected comma-separated addresses or networks, for example 10.0.0.0/8,fd00::/8; /0 is not allowed",
    );
  });
}

export function addWebAppOptions(command: Command): void {
  command
    .addOption(
      new Option("--app-url <url>", "public URL of the web application (default: the address it listens on)")
        .env("VAULTSYNC_VAULT_APP_URL")
        .argParser(parseAppUrl),
    )
    .addOption(
      new Option("--trust-proxy <cidr,...>", "addresses of proxies whose x-forwarded-for is trusted (default: none)")
        .env("VAULTSYNC_VAULT_TRUST_PROXY")
        .argParser(parseTrustedProxies),
    );
}

/** Returns the error of a plain http address that is not a loopback one, or `undefined`. */
export function webAppError({
  appUrl,
  allowHttpListen,
}: WebAppFlags & { readonly allowHttpListen?: boolean }): string | undefined {
  if (appUrl?.startsWith("http://") !== true || allowHttpListen === true) return undefined;
  const host = new URL(appUrl).hostname.replace(/^\[(.*)\]$/u, "$1");
  if (isLoopback({ host, port: 0 })) return undefined;
  return "refusing sessions over plain http on a non-loopback address: specify an https --app-url, or add --allow-http-listen";
}
