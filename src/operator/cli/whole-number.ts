import { InvalidArgumentError } from "commander";

/** Parses the value of an option that is a whole number. @throws InvalidArgumentError */
export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError("expected a whole number of at least 0");
  return value;
}
