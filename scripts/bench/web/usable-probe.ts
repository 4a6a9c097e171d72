/** Start of the line of the console that ends with the time since the navigation, in ms. */
export const USABLE = "usable after ms: ";

/**
 * Returns the script of a page that types a name into the search as soon as the list has rows, and
 * writes to the console when the list has that row only. It keeps the longest task in
 * `globalThis.longestTask`, in ms.
 */
export const usableProbe = (name: string): string => `
globalThis.longestTask = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries())
    globalThis.longestTask = Math.max(globalThis.longestTask, duration);
}).observe({ type: "longtask", buffered: true });

const type = (field) => {
  field.value = ${JSON.stringify(name)};
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
};
const look = (hasTyped) => {
  const field = document.querySelector("input[type=search]");
  const rows = document.querySelectorAll("main tbody tr").length;
  if (hasTyped && rows === 1) return console.log("${USABLE}" + performance.now());
  const isReady = rows > 1 && field !== null && !field.disabled;
  if (!hasTyped && isReady) type(field);
  requestAnimationFrame(() => look(hasTyped || isReady));
};
look(false);
`;
