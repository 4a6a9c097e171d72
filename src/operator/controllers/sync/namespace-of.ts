/** The namespace of a key `namespace/name`: whom a queue lets take turns. */
export function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
