import { z } from "zod";
import { canonicalEmail, isEmailAddress } from "./email-address.ts";
import { email } from "./requests.ts";

/** Characters of a password that is being set. Source: issue 4; shorter ones are too easily guessed, longer ones help nobody. */
export const passwordLength = { min: 12, max: 1024 } as const;

const password = z.string().min(1).max(1024);

/** Bodies of `app_session` and `app_log_out`. */
export const noFields = z.object({});

export const logInRequest = z.object({ email, password });

export const requestPasswordRequest = z.object({
  email: z.string().refine(isEmailAddress, "expected an e-mail address").transform(canonicalEmail),
});

export const setPasswordRequest = z.object({
  /** From the link in the letter. */
  token: z.string().min(1).max(1024),
  password: z
    .string()
    .min(passwordLength.min)
    .max(passwordLength.max)
    .refine((text) => text.isWellFormed(), "must be well-formed Unicode"),
});

export const apiTokenRequest = z.object({ password });
