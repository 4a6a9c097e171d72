import { z } from "zod";
import { longDuration, regexp } from "./fields.ts";
import { withRule } from "./validation.ts";

/** Maximum size of a target in bytes, and so of characters in a value. */
const MAX_CHARACTERS = 1024 * 1024;

const HOST = "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$";

/** The formats that a value can be required to have. */
const formats = ["JSON", "YAML", "PEM", "URL", "Base64", "Integer"] as const;

const certificate = z
  .object({
    validFor: longDuration()
      .optional()
      .describe(
        "Minimum time until the certificate expires, in minutes, hours or days, for example 7d. It is checked when a version is served for the first time. " +
          "Defaults to none: the certificate is not expired.",
      ),
    dnsName: withRule(z.string().min(1).max(253), {
      cel: `self.matches('${HOST}')`,
      message: "must be one host name in lower case, for example shop.example.com",
      check: (name) => new RegExp(HOST).test(name),
    })
      .optional()
      .describe("Host name that the certificate must be valid for, for example shop.example.com."),
  })
  .describe(
    "The value must be PEM with a certificate that is valid now. Of a chain, the first certificate is checked.",
  );

const length = z.int().min(1).max(MAX_CHARACTERS).optional();

const rules = z.object({
  notEmpty: z
    .boolean()
    .optional()
    .describe("If true, the value must not be empty or white space only. Defaults to false."),
  minLength: length.describe(
    "Minimum number of characters; of bytes, if the value is not UTF-8. Defaults to none.",
  ),
  maxLength: length.describe(
    "Maximum number of characters; of bytes, if the value is not UTF-8. Defaults to none.",
  ),
  pattern: regexp
    .optional()
    .describe(
      "Regular expression in the syntax of RE2 that the value must match. It matches a part of the value unless it is anchored.",
    ),
  format: z.enum(formats).optional().describe("Format that the value must have."),
  certificate: certificate.optional(),
});

const someRules = withRule(rules, {
  cel: "has(self.notEmpty) || has(self.minLength) || has(self.maxLength) || has(self.pattern) || has(self.format) || has(self.certificate)",
  message: "must have at least one rule, for example minLength: 16",
  check: (contract) => Object.values(contract).some((rule) => rule !== undefined),
});

/** Rules that a value must fit before a target has it. */
export const valueContract = withRule(someRules, {
  cel: "!has(self.minLength) || !has(self.maxLength) || self.minLength <= self.maxLength",
  message: "minLength must not be greater than maxLength",
  check: ({ minLength = 0, maxLength = Infinity }) => minLength <= maxLength,
});
export type ValueContract = z.output<typeof valueContract>;

/** `validate` of one source of a target. */
export const validate = valueContract
  .optional()
  .describe(
    "Rules for the value. A version that does not fit them is not served: the target keeps the last version that did. Defaults to none.",
  );
