/** Keeps a byte order mark: it is part of the content. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the text that the bytes encode; `undefined` if they are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
