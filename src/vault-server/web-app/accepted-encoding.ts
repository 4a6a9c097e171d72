/** Content encodings of pages, the preferred one first. */
const ENCODINGS = ["br", "gzip"] as const;

export type Encoding = (typeof ENCODINGS)[number];

/** Returns the encoding that an `accept-encoding` header names and does not exclude by `q=0`, or `undefined`. */
export function acceptedEncoding(header: string | readonly string[] | undefined): Encoding | undefined {
  const accepted = new Set(
    String(header ?? "")
      .toLowerCase()
      .split(",", 20)
      .map((part) => part.split(";").map((piece) => piece.trim()))
      .filter(([, weight = "q=1"]) => !/^q=0(?:\.0*)?$/u.test(weight))
      .map(([name]) => name),
  );
  return ENCODINGS.find((encoding) => accepted.has(encoding));
}
