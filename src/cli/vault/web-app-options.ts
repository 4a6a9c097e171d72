import { isIP } from "node:net";
import { InvalidArgumentError, Option, type Command } from "commander";
import { isLoopback } from "../listen-address.ts";

/** The flags about the web application and the people who use it, as commander collects them. */
export interface WebAppFlags {
  /** An origin: no slash at the end. */
  readonly appUrl?: string;
  /** Addresses and networks. */
  readonly trustProxy?: readonly string[];
}

/** The origin of an http or https address without anything after the host. @throws InvalidArgumentError */
export function parseAppUrl(text: string): string {
  const url = URL.parse(text);
  // A URL that is more than its origin comes out longer than it.
  if (url && /^https?:$/u.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new InvalidArgumentError("write https://HOST or https://HOST:PORT, without a path, a query or a user.");
}

/** IP addresses and networks, comma-separated. @throws InvalidArgumentError */
export function parseTrustedProxies(text: string): string[] {
  return text.split(",").map((entry) => {
    const [address = "", digits, more] = entry.trim().split("/");
    const bits = isIP(address) === 4 ? 32 : 128;
    const prefix = digits === undefined ? bits : Number(digits);
    const fits = /^[0-9]{1,3}$/u.test(digits ?? "0") && prefix >= 1 && prefix <= bits;
    if (isIP(address) !== 0 && fits && more === undefined) return entry.trim();
    throw new InvalidArgumentError(
      "write addresses or networks, comma-separated, for example 10.0.0.0/8,fd00::/8; never everybody (/0).",
    );
  });
}

export function addWebAppOptions(command: Command): void {
  command
    .addOption(
      new Option("--app-url <url>", "where people reach the web application, when not at the address it listens on")
        .env("VAULTSYNC_VAULT_APP_URL")
        .argParser(parseAppUrl),
    )
    .addOption(
      new Option("--trust-proxy <cidr,...>", "proxies whose x-forwarded-for says where a request comes from; by default nobody")
        .env("VAULTSYNC_VAULT_TRUST_PROXY")
        .argParser(parseTrustedProxies),
    );
}

/** Sessions over plain http are for this machine alone; `undefined` when nothing is wrong. */
export function webAppFault({
  appUrl,
  allowHttpListen,
}: WebAppFlags & { readonly allowHttpListen?: boolean }): string | undefined {
  if (appUrl?.startsWith("http://") !== true || allowHttpListen === true) return undefined;
  const host = new URL(appUrl).hostname.replace(/^\[(.*)\]$/u, "$1");
  if (isLoopback({ host, port: 0 })) return undefined;
  return "refusing sessions over plain http beyond this machine: give an https --app-url, or add --allow-http-listen";
}
