const PARAMETER = /;\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gu;

function decodeExtended(value: string): string | undefined {
  const [charset, , text] = value.split("'");
  if (charset?.toLowerCase() !== "utf-8" || text === undefined) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the parameters of a `multipart/form-data` content type or of a `form-data` disposition,
 * by lower-case name.
 */
export function headerParameters(header: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [, name = "", quoted, bare] of header.matchAll(PARAMETER)) {
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/gu, "$1") ?? bare ?? "");
  }
  return parameters;
}

/**
 * Returns the base name of a part's filename, or `undefined` when the part is not a file. Escapes
 * such as `%22` are kept; `filename*` is decoded as in RFC 5987
 * (docs/design/vault-contract.md#files).
 */
export function partFilename(disposition: string): string | undefined {
  if (!/^form-data\s*;/iu.test(disposition)) return undefined;
  const parameters = headerParameters(disposition);
  const extended = parameters.get("filename*");
  const filename =
    (extended !== undefined ? decodeExtended(extended) : undefined) ?? parameters.get("filename");
  return filename?.slice(Math.max(filename.lastIndexOf("/"), filename.lastIndexOf("\\")) + 1);
}
