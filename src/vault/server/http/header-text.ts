import { isUtf8 } from "node:buffer";

/** Returns the text of a header in UTF-8, or in Latin-1, as which Node reads all headers. */
export function headerText(header: string): string {
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString() : header;
}
