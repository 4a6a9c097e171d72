import { z } from "zod";

/** Characters of a new password: shorter ones are too easily guessed, longer ones add nothing. */
export const passwordLength = { min: 12, max: 1024 } as const;

export const newPassword = z
  .string()
  .min(passwordLength.min)
  .max(passwordLength.max)
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .meta({ description: "Not among common passwords, no repetition of a shorter one, and not the address." });
