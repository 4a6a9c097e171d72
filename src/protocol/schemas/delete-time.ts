import { z } from "zod";

/** Longest accepted `delete_time`, in minutes. */
const MAX_DELETE_MINUTES = 10 ** 12;

/** Minutes as an integer or a decimal string; `null` is the same as an omitted field. */
export const deleteTime = z
  .union([z.int(), z.string().regex(/^[0-9]{1,20}$/u, "expected minutes in digits"), z.null()])
  .transform((minutes) => (minutes === null ? undefined : Number(minutes)))
  .pipe(z.number().min(1).max(MAX_DELETE_MINUTES).optional())
  .meta({
    anyOf: [
      { type: "integer", minimum: 1, maximum: MAX_DELETE_MINUTES },
      { type: "string", maxLength: 20, pattern: "^0*([1-9][0-9]{0,11}|10{12})$" },
      { type: "null" },
    ],
    description:
      "Minutes until the secret is removed, as an integer or in digits; null is the same as omitting it.",
  })
  .optional();
