/**
 * Browsers by their part of the `user-agent` header, the more specific ones first: most also name
 * another browser.
 */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//u, "Edge"],
  [/\bOPR\//u, "Opera"],
  [/\b(?:Firefox|FxiOS)\//u, "Firefox"],
  [/(?:Chrome|CriOS)\//u, "Chrome"],
  [/\bSafari\//u, "Safari"],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad)\b/u, "iOS"],
  [/\bAndroid\b/u, "Android"],
  [/\bWindows\b/u, "Windows"],
  [/\bMac OS X\b/u, "macOS"],
  [/\bCrOS\b/u, "ChromeOS"],
  [/\bLinux\b/u, "Linux"],
];

function matching(table: typeof browsers, text: string): string | undefined {
  return table.find(([pattern]) => pattern.test(text))?.[1];
}

/**
 * Returns a short name of the program that sends a `user-agent` header: `Firefox on Linux`, or the
 * first product, `curl`. It is a claim of the program, and empty without a usable header.
 */
export function clientName(userAgent: string | undefined): string {
  const text = (userAgent ?? "").slice(0, 500);
  const [browser, system] = [matching(browsers, text), matching(systems, text)];
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`;
  return /^[A-Za-z][\w.-]{0,39}(?=[/\s]|$)/u.exec(text)?.[0] ?? "";
}
