/** Largest value of a secret, in bytes: docs/design/vault-contract.md#limits. */
export const MAX_VALUE_BYTES = 2 ** 20;

/** Content of a file as the value of a secret. */
export interface FileValue {
  readonly text: string;
  /** Text keeps its bytes, also line ends; other files become Base64, because a value is text. */
  readonly format: "text" | "base64";
}

const BASE64 = /^[\w+/]+={0,2}$/u;

/** Returns the bytes of a value that is Base64 of a file that is no text, as `fileValue` makes it. */
export function fileBytes(value: string): Uint8Array<ArrayBuffer> | undefined {
  if (value.length % 4 !== 0 || !BASE64.test(value)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
    return fileValue(bytes).text === value ? bytes : undefined;
  } catch {
    return undefined;
  }
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
