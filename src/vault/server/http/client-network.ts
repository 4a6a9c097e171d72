import { isIPv4 } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Logger } from "../../../lib/logger.ts";
import { IGNORED_FORWARDED_HEADER } from "../../../protocol/headers.ts";

/**
 * Returns the eight groups of an IPv6 address as numbers; the last two may be written as an IPv4
 * address.
 */
function groupsOf(address: string): number[] {
  const last = address.slice(address.lastIndexOf(":") + 1);
  const dotted = isIPv4(last) ? last : "";
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  const hexadecimal =
    dotted === ""
      ? address
      : `${address.slice(0, -dotted.length)}${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
  const [head = "", tail] = (hexadecimal.split("%", 1)[0] ?? "").split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array.from({ length: missing }, () => "0"), ...after].map((group) =>
    Number.parseInt(group, 16),
  );
}

function hex(group: number): string {
  return group.toString(16);
}

/**
 * Prefixes of the IPv6 addresses that contain an IPv4 address: mapped ones (RFC 4291), and NAT64
 * ones (RFC 6052).
 */
const IPV4_PREFIXES = ["0:0:0:0:0:ffff", "64:ff9b:0:0:0:0"];

/** Returns the IPv4 address that an IPv6 address contains, or `undefined`. */
function embeddedIPv4(groups: readonly number[]): string | undefined {
  const [high = 0, low = 0] = groups.slice(6);
  if (!IPV4_PREFIXES.includes(groups.slice(0, 6).map(hex).join(":"))) return undefined;
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Returns an IP address without the brackets and the port that some proxies forward as well. */
export const withoutPort = (address: string): string =>
  /^\[(.*)\](?::[0-9]+)?$/u.exec(address)?.[1] ??
  /^([0-9.]+):[0-9]+$/u.exec(address)?.[1] ??
  address;

/**
 * Returns the network that an IP address is counted as: an IPv4 address itself, also when an IPv6
 * address contains it, and the /64 of another IPv6 address: one customer of a provider has at least
 * a /64. A port does not count.
 */
export function clientNetwork(address: string): string {
  const host = withoutPort(address);
  if (isIPv4(host)) return host;
  const groups = groupsOf(host);
  if (groups.some(Number.isNaN)) return "unknown";
  return embeddedIPv4(groups) ?? `${groups.slice(0, 4).map(hex).join(":")}::/64`;
}

interface Observation {
  readonly logger: Pick<Logger, "warn">;
  readonly metrics: { readonly untrustedForwarded: { inc(): void } };
}

/** Reports whether a peer that is no trusted proxy forwards a request, or says so. */
const isForwarded = ({ headers, ip, socket }: FastifyRequest): boolean =>
  (headers["x-forwarded-for"] ?? headers["forwarded"]) !== undefined && ip === socket.remoteAddress;

/**
 * Counts forwarded requests whose header is ignored, and warns of the first one: all users behind a
 * proxy that is not trusted share its address, and with it the limits for strangers. Responses to
 * authenticated requests say so in a header; `vaultsync doctor` reports it.
 */
export function reportUntrustedProxies(
  app: FastifyInstance,
  { logger, metrics }: Observation,
): void {
  let isReported = false;
  app.addHook("onRequest", async (request) => {
    if (!isForwarded(request)) return;
    metrics.untrustedForwarded.inc();
    if (isReported) return;
    isReported = true;
    logger.warn(
      { address: request.ip },
      "ignored the forwarded address of a request: if a proxy of yours sent it, list its address in --trust-proxy, or its users lock each other out",
    );
  });
  app.addHook("onSend", async (request, reply, payload) => {
    if (request.user !== undefined && isForwarded(request))
      reply.header(IGNORED_FORWARDED_HEADER, "true");
    return payload;
  });
}
