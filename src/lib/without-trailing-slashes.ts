/** Returns a URL without the slashes at its end; its time grows linearly with the length. */
export function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (url.endsWith("/", end)) end -= 1;
  return url.slice(0, end);
}
