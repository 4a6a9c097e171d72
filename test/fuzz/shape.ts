import type { Random } from "../../src/lib/random.ts";

/**
 * A piece of an input. Pumped pieces are repeated equally often, until the input has its size; `§`
 * in them is the repetition.
 */
export interface Piece {
  /** Latin-1: each character is a byte. */
  readonly text: string;
  readonly pumped: boolean;
}

/**
 * The structure of an input of any size, for example `"` then `a` pumped, or `[` pumped then `]`
 * pumped.
 */
export type Shape = readonly Piece[];

const MAX_PIECES = 8;
const MAX_TEXT = 64;

/** Returns the input of a shape with at most this many bytes. */
export function render(shape: Shape, bytes: number): Buffer {
  const lengthOf = (pumped: boolean): number =>
    shape.reduce((sum, piece) => sum + (piece.pumped === pumped ? piece.text.length : 0), 0);
  const times = Math.max(0, Math.floor((bytes - lengthOf(false)) / Math.max(1, lengthOf(true))));
  const texts = shape.map(({ text, pumped }) => {
    if (!pumped) return text;
    if (!text.includes("§")) return text.repeat(times);
    return Array.from({ length: times }, (_, index) =>
      text.replaceAll("§", index.toString(36)),
    ).join("");
  });
  return Buffer.from(texts.join(""), "latin1").subarray(0, bytes);
}

const pick = <T>(random: Random, list: readonly T[]): T =>
  list[Math.floor(random() * list.length)]!;

function randomText(random: Random, fragments: readonly string[]): string {
  const count = 1 + Math.floor(random() ** 2 * 4);
  return Array.from({ length: count }, () => pick(random, fragments)).join("");
}

function randomPiece(random: Random, fragments: readonly string[]): Piece {
  return { text: randomText(random, fragments), pumped: random() < 0.6 };
}

function isPumped(shape: Shape): boolean {
  return shape.some(({ text, pumped }) => pumped && text !== "");
}

/**
 * Returns a shape of one to four random pieces of a target's fragments, at least one of them
 * pumped.
 */
export function randomShape(random: Random, fragments: readonly string[]): Shape {
  const shape = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
    randomPiece(random, fragments),
  );
  return isPumped(shape)
    ? shape
    : [...shape, { text: randomText(random, fragments), pumped: true }];
}

/** Returns a shape that differs in one piece, or joins two shapes. */
export function mutate(
  random: Random,
  shape: Shape,
  fragments: readonly string[],
  other: Shape,
): Shape {
  const at = Math.floor(random() * shape.length);
  const piece = shape[at]!;
  const cut = Math.floor(random() * (piece.text.length + 1));
  const changes: (() => Shape)[] = [
    () => shape.with(at, randomPiece(random, fragments)),
    () => shape.with(at, { ...piece, pumped: !piece.pumped }),
    () =>
      shape.with(at, {
        ...piece,
        text: piece.text.slice(0, cut) + pick(random, fragments) + piece.text.slice(cut),
      }),
    () => shape.with(at, { ...piece, text: piece.text.slice(0, cut) }),
    () => shape.toSpliced(at, 1),
    () => shape.toSpliced(at, 0, randomPiece(random, fragments)),
    () => [...shape.slice(0, at + 1), ...other],
  ];
  const changed = pick(random, changes)()
    .slice(0, MAX_PIECES)
    .map(({ text, pumped }) => ({ text: text.slice(0, MAX_TEXT), pumped }));
  return isPumped(changed) ? changed : randomShape(random, fragments);
}
