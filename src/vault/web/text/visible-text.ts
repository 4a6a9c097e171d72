/** Shortens a text in the middle: both ends of a name in a folder say which one it is. */
export function shortened(text: string, most = 30): string {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
}

/**
 * Characters that a name shows as something else or not at all: direction marks, zero-width
 * characters, spaces other than the common one, soft hyphens. Joiners and variation selectors stay
 * in scripts and emoji that need them.
 */
const HIDDEN =
  /(?![ \u200C\u200D]|\p{Variation_Selector})[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Z}]|(?<!\P{ASCII})[\u200C\u200D]|(?<!\P{ASCII}|[\d#*])\p{Variation_Selector}/u;

/** One piece of a text: unchanged, or the name of a character that cannot be seen. */
export interface VisiblePart {
  readonly text: string;
  readonly hidden: boolean;
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Returns the first character that cannot be seen, as `U+202E`. */
export function firstHidden(text: string): string | undefined {
  const found = HIDDEN.exec(text);
  return found ? codeOf(found[0]) : undefined;
}

/** Returns a text in which each character that cannot be seen is named. */
export function visibleText(text: string): string {
  return visibleParts(text)
    .map((part) => part.text)
    .join("");
}

const STRONG = /\p{L}/u;
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** Returns the direction that `dir="auto"` finds in the text of an element. */
export function directionOf(text: string): "ltr" | "rtl" {
  return RIGHT_TO_LEFT.test(STRONG.exec(text)?.[0] ?? "") ? "rtl" : "ltr";
}

/** Captures a character that cannot be seen, or the spaces at an end. */
const NAMED = new RegExp(`(${HIDDEN.source}|^ +| +$)`, "gu");

/**
 * Splits a text to show characters that cannot be seen, and spaces at its ends, as what they are.
 */
export function visibleParts(text: string): VisiblePart[] {
  return text
    .split(NAMED)
    .filter((part) => part !== "")
    .map((part) => {
      if (/^ +$/u.test(part) && (text.startsWith(part) || text.endsWith(part)))
        return { text: "␣".repeat(part.length), hidden: true };
      return HIDDEN.test(part)
        ? { text: codeOf(part), hidden: true }
        : { text: part, hidden: false };
    });
}
