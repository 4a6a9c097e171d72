/** Largest value of a secret, in bytes: docs/design/vault-contract.md#limits. */
export const MAX_VALUE_BYTES = 2 ** 20;

/** Content of a file as the value of a secret. */
export interface FileValue {
  readonly text: string;
  /** Text keeps its bytes, also line ends; other files become Base64, because a value is text. */
  readonly format: "text" | "base64";
}

/** Returns the value for these bytes. */
export function fileValue(bytes: Uint8Array): FileValue {
  try {
    return {
      text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
      format: "text",
    };
  } catch {
    return {
      text: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")),
      format: "base64",
    };
  }
}
