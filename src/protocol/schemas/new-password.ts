import { z } from "zod";
import { passwordLength } from "../password-length.ts";

export const newPassword = z
  .string()
  .min(passwordLength.min)
  .max(passwordLength.max)
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .meta({ description: "Not among common passwords, no repetition of a shorter one, and not the address." });
