import { z } from "zod";

/** Marks a list schema for which a single entry is accepted; read by openapi/json-schema.ts. */
export const ONE_OR_MORE = "x-one-or-more";

/** A list with a minimum and maximum length; a single string is accepted as a list of one. */
export function oneOrMore<T extends z.ZodType>(
  entry: T,
  maxEntries: number,
  minEntries = 1,
): z.ZodType<z.output<T>[], string | readonly z.input<T>[]> {
  const list = z.array(entry).min(minEntries).max(maxEntries);
  return z
    .preprocess(
      (given: string | readonly z.input<T>[]) => (typeof given === "string" ? [given] : given),
      list,
    )
    .meta({ [ONE_OR_MORE]: true });
}
