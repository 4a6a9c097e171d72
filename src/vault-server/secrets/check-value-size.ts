import type { Limits } from "../limits.ts";
import { ServiceError } from "../errors.ts";

/** @throws ServiceError `too_large`; sizes are counted in UTF-8 */
export function checkValueSize({ secretValueBytes }: Limits): (body: { readonly key_value: string }) => void {
  return ({ key_value: value }) => {
    if (Buffer.byteLength(value, "utf8") <= secretValueBytes) return;
    throw new ServiceError("too_large", `key_value is larger than ${secretValueBytes} bytes`);
  };
}
