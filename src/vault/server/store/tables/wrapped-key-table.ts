import type { WrappedKey } from "../../crypto/master-key.ts";
import type { WrappedRecord } from "../records.ts";

/** All data keys that master keys wrap, across the tables: the input of a rotation. */
export interface WrappedKeyTable {
  /**
   * Returns versions whose data key is wrapped by a master key other than this one, in a fixed
   * order, starting after `after`.
   */
  otherThan(
    kind: WrappedRecord["kind"],
    masterKeyId: string,
    after: WrappedRecord | undefined,
    atMost: number,
  ): Promise<WrappedRecord[]>;
  /**
   * Returns false, and changes nothing, when the version is gone or its wrapped key differs from
   * the key of `record`.
   */
  replace(record: WrappedRecord, key: WrappedKey): Promise<boolean>;
  countOtherThan(masterKeyId: string): Promise<number>;
  /**
   * Returns the ids of all master keys that wrap data keys, in time that does not depend on the
   * number of records.
   */
  masterKeyIds(): Promise<string[]>;
  /** Returns the number of records whose data key this master key wraps. */
  countOf(masterKeyId: string): Promise<number>;
}
