import type { EmailMessage } from "../records.ts";

export interface OutboxTable {
  /**
   * Returns false, and changes nothing, when a message of the same kind from the same sender to the
   * same recipient is waiting.
   */
  insert(message: EmailMessage): Promise<boolean>;
  count(): Promise<number>;
  /**
   * Returns due messages, oldest first, and makes them due at `until`: no other server claims them
   * before.
   */
  claim(now: number, until: number, atMost: number): Promise<EmailMessage[]>;
  /** Updates the attempts and the due time. */
  update(message: EmailMessage): Promise<void>;
  remove(id: string): Promise<void>;
}
