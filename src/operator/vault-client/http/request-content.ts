import { randomBytes } from "node:crypto";
import type { FileUpload } from "./vault-transport.ts";

/** The content of a request and the headers that describe it. */
interface RequestContent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export const jsonContent = (body: object): RequestContent => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Returns the parameters that name a file. Other characters than plain ones are also sent as RFC
 * 5987 defines.
 */
function filenameParameters(filename: string): string {
  const quoted = `filename="${filename.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  if (PLAIN.test(filename)) return quoted;
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `${quoted}; filename*=UTF-8''${encoded}`;
}

/**
 * Returns a `multipart/form-data` content with one file. The members of `parameters` become
 * headers.
 */
export function uploadContent({ filename, bytes }: FileUpload, parameters: object): RequestContent {
  // A delimiter that occurs in the file by chance is less likely than a collision of two digests.
  const boundary = randomBytes(24).toString("hex");
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; ${filenameParameters(filename)}\r\ncontent-type: application/octet-stream\r\n\r\n`;
  const headers = Object.entries(parameters).map(([name, value]) => [
    name.toLowerCase(),
    String(value),
  ]);
  return {
    headers: {
      ...Object.fromEntries(headers),
      "content-type": `multipart/form-data; boundary=${boundary}`,
    },
    body: Buffer.concat([
      Buffer.from(head),
      bytes.reveal(),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  };
}
