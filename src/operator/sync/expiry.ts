import { certificatesIn } from "../template/keystores/pem.ts";
import { TemplateFault } from "../template/template-fault.ts";
import { utf8Text } from "../lib/utf8-text.ts";
import type { Resolution } from "./resolution.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";

/** Time for which something is valid, in milliseconds since the epoch. */
export interface Lifetime {
  /** `undefined`: unknown. */
  readonly from: number | undefined;
  readonly to: number;
}

/** Something of an item that expires. */
export interface Expiry {
  /** For messages. */
  readonly name: string;
  readonly to: number;
  /** Time from which it is reported. */
  readonly noticeAt: number;
}

/** `spec.expiryNotice` of a resource that does not set it, in milliseconds. */
export const DEFAULT_NOTICE_MS = 7 * 86_400_000;
/** The notice is at most this share of a lifetime. */
const MAX_NOTICE_SHARE = 1 / 3;

/** Maximum size of a chain in bytes, and of its certificates: a longer text is a bundle of CAs. */
const MAX_CHAIN_BYTES = 64 * 1024;
const MAX_CHAIN_LENGTH = 10;

/**
 * Returns the lifetime of the first certificate of a chain in PEM; `undefined` if a value is none.
 * Total.
 */
export function certificateLifetime(bytes: Uint8Array): Lifetime | undefined {
  if (bytes.byteLength > MAX_CHAIN_BYTES) return undefined;
  const text = utf8Text(bytes);
  if (text?.includes("-----BEGIN CERTIFICATE-----") !== true) return undefined;
  try {
    const chain = certificatesIn(text);
    const [leaf] = chain;
    if (leaf === undefined || chain.length > MAX_CHAIN_LENGTH) return undefined;
    return { from: Date.parse(leaf.validFrom), to: Date.parse(leaf.validTo) };
  } catch (error) {
    if (error instanceof TemplateFault) return undefined;
    throw error;
  }
}

/** Facts about the bytes that a target has. */
interface KnownLifetimes {
  /** Returns the lifetime of the certificate that the target has of an item. */
  certificateOf(item: SyncItem): Lifetime | undefined;
  /** Returns when the version that the target has of an item expires. */
  expiresAtOf(resolution: Resolution): number | undefined;
}

/**
 * Returns what expires of the items of a resource: versions that the vault serves, and certificates,
 * also those that a target keeps.
 */
export function expiriesOf(
  { expiryNoticeMs = DEFAULT_NOTICE_MS }: Pick<SyncResource, "expiryNoticeMs">,
  resolutions: readonly Resolution[],
  known: KnownLifetimes,
): Expiry[] {
  const expiry = (name: string, { from, to }: Lifetime): Expiry => {
    const longest = from === undefined ? Infinity : (to - from) * MAX_NOTICE_SHARE;
    return { name, to, noticeAt: to - Math.min(expiryNoticeMs, longest) };
  };
  return resolutions.flatMap((one) => {
    const { item } = one;
    const from = one.state === "found" ? one.candidate.createdAt?.get(one.version) : undefined;
    const to = one.state === "found" ? known.expiresAtOf(one) : undefined;
    const certificate = known.certificateOf(item);
    return [
      ...(to === undefined ? [] : [expiry(item.source, { from, to })]),
      ...(certificate === undefined
        ? []
        : [expiry(`the certificate of ${item.source}`, certificate)]),
    ];
  });
}
