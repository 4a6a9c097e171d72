/** Yields `{…head, "<name>": [records]}` as JSON, piece by piece. */
export function jsonList(
  head: object,
  name: string,
  pages: AsyncIterable<readonly object[]>,
): AsyncGenerator<string, void> {
  return textList(head, name, textsOf(pages));
}

async function* textsOf(pages: AsyncIterable<readonly object[]>): AsyncGenerator<string, void> {
  for await (const page of pages) yield JSON.stringify(page).slice(1, -1);
}

/**
 * Yields the same of pages that are JSON already: records that commas separate.
 * @param ended called with the result of `pages` when all have been read
 */
export async function* textList<R>(
  head: object,
  name: string,
  pages: AsyncGenerator<string, R>,
  ended?: (end: R) => void,
): AsyncGenerator<string, void> {
  const start = JSON.stringify({ ...head, [name]: [] });
  let before = start.slice(0, -2);
  let page = await pages.next();
  for (; page.done !== true; page = await pages.next()) {
    if (page.value === "") continue;
    yield before + page.value;
    before = ",";
  }
  ended?.(page.value);
  yield before === "," ? "]}" : start;
}

/** One item of a list within a record. */
export interface NestedItem {
  /** Identifies the record; the items of one record are neighbors. */
  readonly key: string;
  readonly item: unknown;
  /** The other fields of the record, those with its last item count. */
  readonly fields: object;
}

/**
 * Yields `{"<name>": [{"<inner>": [items], …fields}]}` as JSON, piece by piece, however many items
 * a record has.
 */
export async function* nestedJsonList(
  name: string,
  inner: string,
  pages: AsyncIterable<readonly NestedItem[]>,
): AsyncGenerator<string, void> {
  let text = `{${JSON.stringify(name)}:[`;
  let last: NestedItem | undefined;
  const close = ({ fields }: NestedItem): string => `],${JSON.stringify(fields).slice(1)}`;
  for await (const page of pages) {
    for (const next of page) {
      if (last?.key === next.key) text += ",";
      else text += `${last ? `${close(last)},` : ""}{${JSON.stringify(inner)}:[`;
      text += JSON.stringify(next.item);
      last = next;
    }
    yield text;
    text = "";
  }
  yield `${text}${last ? close(last) : ""}]}`;
}
