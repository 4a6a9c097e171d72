/** `metav1.MicroTime` as the API server wants it written: six fraction digits. @param now milliseconds since the epoch */
export function microTime(now: number): string {
  return new Date(now).toISOString().replace("Z", "000Z");
}
