import { randomBytes, timingSafeEqual, type Hmac } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { VaultContext } from "../context.ts";
import { currentKey } from "../store/current-key.ts";
import type { User } from "../store/records.ts";
import type { CookieSerializeOptions } from "@fastify/cookie";

/**
 * Returns a cookie's name. Over https its prefix makes browsers reject one set by another host or
 * without TLS.
 */
function cookieName(appUrl: string, kind: "session" | "device"): string {
  return isHttps(appUrl) ? `__Host-vaultsync_${kind}` : `vaultsync_${kind}`;
}

/**
 * Sent to this server only, by requests of its pages only, hidden from scripts, dropped with the
 * browser.
 */
function cookieAttributes(appUrl: string): CookieSerializeOptions {
  return { path: "/", httpOnly: true, sameSite: "strict", secure: isHttps(appUrl) };
}

export function isHttps(appUrl: string): boolean {
  return appUrl.startsWith("https://");
}

/** Makes the browser keep the session's token. */
export function setSessionCookie(reply: FastifyReply, appUrl: string, token: string): void {
  reply.setCookie(cookieName(appUrl, "session"), token, cookieAttributes(appUrl));
}

/** Makes the browser delete the session's token. */
export function clearSessionCookie(reply: FastifyReply, appUrl: string): void {
  reply.setCookie(cookieName(appUrl, "session"), "", { ...cookieAttributes(appUrl), maxAge: 0 });
}

/** Returns the session token that the browser sent, or `undefined`. */
export function sentSessionToken(
  { cookies }: Pick<FastifyRequest, "cookies">,
  appUrl: string,
): string | undefined {
  return cookies[cookieName(appUrl, "session")];
}

/** A browser is known for 180 days after a login, in milliseconds. */
const LIFETIME_MS = 180 * 24 * 3_600_000;
/** Purpose of the derived key. */
const DEVICE_MAC = "device cookie v1";
/** Id, expiry in ms and HMAC. */
const FORMAT = /^([\w-]{22})\.([0-9]{1,15})\.([\w-]{43})$/u;

interface Device {
  readonly id: string;
  readonly expiresAt: number;
}

type Owner = Pick<User, "email" | "passwordHash">;

/** Returns the HMAC of a device. A new password hash invalidates it. */
function digestOf(mac: Hmac, { email, passwordHash }: Owner, { id, expiresAt }: Device): Buffer {
  return mac.update(JSON.stringify([email, passwordHash, id, expiresAt])).digest();
}

/**
 * Makes the browser keep a cookie that proves a login of this user. It authenticates nothing: wrong
 * passwords of a browser with it are counted apart. It names no account, and ends with the
 * password.
 */
export async function setDeviceCookie(
  { store, keys, clock, appUrl }: VaultContext,
  reply: FastifyReply,
  email: string,
): Promise<void> {
  const device = {
    id: randomBytes(16).toString("base64url"),
    expiresAt: clock.now() + LIFETIME_MS,
  };
  const mac = await store.read(
    async (transaction) => {
      const user = await transaction.users.find(email);
      if (!user) return undefined;
      const key = await currentKey(keys, transaction);
      return digestOf(key.mac(DEVICE_MAC), user, device).toString("base64url");
    },
    { account: email },
  );
  if (mac === undefined) return;
  const value = `${device.id}.${device.expiresAt}.${mac}`;
  reply.setCookie(cookieName(appUrl(), "device"), value, {
    ...cookieAttributes(appUrl()),
    maxAge: LIFETIME_MS / 1000,
  });
}

/** Returns the device cookie that the browser sent, or `undefined`. */
export function sentDeviceCookie(
  { cookies }: Pick<FastifyRequest, "cookies">,
  appUrl: string,
): string | undefined {
  return cookies[cookieName(appUrl, "device")];
}

/**
 * Returns the id of the device that a cookie proves a login of this user for, `undefined` for any
 * other cookie.
 */
export function provenDevice(
  { keys, clock }: VaultContext,
  cookie: string,
  user: Owner,
): string | undefined {
  const [, id, expiry, sent] = FORMAT.exec(cookie) ?? [];
  if (id === undefined || expiry === undefined || sent === undefined) return undefined;
  const device = { id, expiresAt: Number(expiry) };
  const mac = Buffer.from(sent, "base64url");
  const isSigned = keys.ids.some((key) =>
    timingSafeEqual(digestOf(keys.get(key).mac(DEVICE_MAC), user, device), mac),
  );
  return isSigned && device.expiresAt > clock.now() ? id : undefined;
}
