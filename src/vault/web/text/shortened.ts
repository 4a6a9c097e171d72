/** Shortens a text in the middle: both ends of a name in a folder say which one it is. */
export function shortened(text: string, most = 30): string {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
}
