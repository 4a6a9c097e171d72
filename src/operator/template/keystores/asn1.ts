import {
  type BaseBlock,
  Constructed,
  fromBER,
  Integer,
  ObjectIdentifier,
  OctetString,
  Primitive,
} from "asn1js";
import { TemplateFault } from "../template-fault.ts";

/** A value in BER. */
export type Node = BaseBlock;

/**
 * Bounds of what a keystore has; more is malformed. The content of octet strings is parsed on
 * request only.
 */
const LIMITS = { maxDepth: 32, maxNodes: 20_000, parseEmbedded: false, copyInput: false };

export const malformed = (): TemplateFault =>
  new TemplateFault("the ASN.1 of the keystore is malformed");

/** Parses one value in BER. Bytes after it are ignored. @throws TemplateFault */
export function parseBer(bytes: Uint8Array): Node {
  try {
    const { offset, result } = fromBER(bytes, LIMITS);
    if (offset >= 0) return result;
  } catch {
    // What asn1js throws may have a part of the input.
  }
  throw malformed();
}

/** Returns the values in a value; none in a primitive one. */
export const childrenOf = (node: Node): readonly Node[] =>
  node instanceof Constructed ? node.valueBlock.value : [];

/** Returns the child at an index. @throws TemplateFault */
export function child(node: Node, index: number): Node {
  const found = childrenOf(node)[index];
  if (found === undefined) throw malformed();
  return found;
}

/**
 * Returns the bytes of an octet string, whose tag may be implicit and whose parts may be values of
 * their own. @throws TemplateFault
 */
export function octetsOf(node: Node): Uint8Array {
  if (node instanceof OctetString) return Buffer.from(node.getValue());
  if (node instanceof Primitive) return node.valueBlock.valueHexView;
  if (node instanceof Constructed) return Buffer.concat(childrenOf(node).map(octetsOf));
  throw malformed();
}

/** Returns a non-negative integer below 2³¹. @throws TemplateFault */
export function integerOf(node: Node): number {
  const bytes = node instanceof Integer ? node.valueBlock.valueHexView : new Uint8Array();
  if (bytes.byteLength === 0 || bytes.byteLength > 4 || (bytes[0] ?? 0) >= 0x80) throw malformed();
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}

/** Returns an object identifier in its dotted form. @throws TemplateFault */
export function oidOf(node: Node): string {
  if (!(node instanceof ObjectIdentifier)) throw malformed();
  return node.getValue();
}
