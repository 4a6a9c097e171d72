import { KubeError } from "../kube-error.ts";

/** Several times the size limit of an object in etcd. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/**
 * Yields the JSON values of a stream of lines.
 * @throws KubeError `Unexpected` for a line that is too long or not JSON, `Unavailable` when the
 * stream ends within a line
 */
export async function* readJsonLines(
  chunks: AsyncIterable<Uint8Array>,
  operation: string,
): AsyncGenerator {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n", start)) {
      yield parseJson(rest.slice(start, end), operation);
      start = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length > MAX_LINE_LENGTH)
      throw new KubeError({ kind: "Unexpected", operation, reason: "LineTooLong" });
  }
  if (rest !== "") throw new KubeError({ kind: "Unavailable", operation, reason: "TruncatedLine" });
}

/** Parses JSON. @throws KubeError `Unexpected`, never the parser's error: it quotes the text */
export function parseJson(text: string, operation: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new KubeError({ kind: "Unexpected", operation, reason: "UnreadableResponse" });
  }
}
