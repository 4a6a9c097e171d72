import { KubeError } from "../kube-error.ts";

/** More than an object can have in etcd, several times over. */
const LONGEST_LINE = 16 * 1024 * 1024;

/**
 * The JSON values of a stream of lines.
 * @throws KubeError `Unexpected` for a line that is no JSON or has no end, `Unavailable` when the stream ends within a line
 */
export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>, operation: string): AsyncGenerator {
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
    if (rest.length > LONGEST_LINE) throw new KubeError({ kind: "Unexpected", operation, reason: "EndlessLine" });
  }
  if (rest !== "") throw new KubeError({ kind: "Unavailable", operation, reason: "HalfLine" });
}

/** @throws KubeError `Unexpected`; not the parser's error, which quotes the text */
export function parseJson(text: string, operation: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new KubeError({ kind: "Unexpected", operation, reason: "UnreadableAnswer" });
  }
}
