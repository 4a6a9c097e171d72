import { z } from "zod";

/** Text of a user that is shown in a message: one line, without control characters. */
export const note = z
  .string()
  .max(1_000)
  .transform((text) => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim());
