import { z } from "zod";
import { passwordLength } from "../limits.ts";

export const newPassword = z
  .string()
  .min(passwordLength.min)
  .max(passwordLength.max)
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .meta({
    description:
      "Neither a common password or two, nor a repetition, a sequence, the address or the name of the product with little added.",
  });
