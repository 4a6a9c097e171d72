import type { RequestLimits } from "../requests.ts";

/** The limits of a server that its document tells of; sizes in bytes. */
export interface DocumentLimits extends RequestLimits {
  readonly jsonBodyBytes: number;
  readonly jsonDepth: number;
  readonly secretValueBytes: number;
  readonly fileBytes: number;
  readonly filesPerRequest: number;
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
}
