import { Redacted } from "../../../lib/redacted.ts";
import type { Operation } from "../../../protocol/operations.ts";
import type { SecretRecord, SecretValue } from "../connection.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { isObject, type JsonObject } from "../../../lib/is-object.ts";
import { field, readCount } from "./field.ts";

/** The object that holds the value: the root, or the one object below it that does. */
function holder(answer: unknown): JsonObject | undefined {
  if (!isObject(answer)) return undefined;
  if (Object.hasOwn(answer, "key_value")) return answer;
  const below = Object.values(answer).filter((value) => isObject(value) && Object.hasOwn(value, "key_value"));
  return below.length === 1 && isObject(below[0]) ? below[0] : undefined;
}

/**
 * The value of an expose operation as UTF-8 bytes; an empty one is a value. An answer about another name or owner than asked for is
 * not taken, and one about another version is labelled so.
 * @param version the one asked for, which an answer without a version is taken to be
 * @throws UnexpectedResponse naming the field
 */
export function readValue(operation: Operation, answer: unknown, asked: SecretRecord, version: number): SecretValue {
  const from = holder(answer);
  const value = from?.key_value;
  // Bytes that UTF-8 cannot express would be changed on the way.
  if (!from || typeof value !== "string" || !value.isWellFormed()) throw new UnexpectedResponse(operation, "key_value");
  const said = (name: string): unknown => field(from, name) ?? (isObject(answer) ? field(answer, name) : undefined);
  const name = said("key_name");
  if (name !== undefined && name !== asked.name) throw new UnexpectedResponse(operation, "key_name");
  const owner = said("owner");
  if (typeof owner === "string" && asked.owner !== undefined && owner.toLowerCase() !== asked.owner.toLowerCase()) {
    throw new UnexpectedResponse(operation, "owner");
  }
  const label = said("key_version");
  const answered = label === undefined ? version : readCount(label);
  if (answered === undefined) throw new UnexpectedResponse(operation, "key_version");
  return { value: new Redacted(new TextEncoder().encode(value)), version: answered };
}
