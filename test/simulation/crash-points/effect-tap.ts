/**
 * The faults of one request. `crash-before`: the process ends before the request is sent.
 * `crash-after`: it ends when the request was carried out and before the response arrives.
 * `unavailable`: the server responds with 503. `rejected`: it rejects the request (409 for a write
 * at the API server, 429 for a read there, 500 for the vault). `lost-response`: the request is
 * carried out and the connection is reset. `timeout`: the request is carried out and no response
 * arrives. `taken-over`: immediately before a write of a target, a user makes the object their own.
 */
const faults = [
  "crash-before",
  "crash-after",
  "unavailable",
  "rejected",
  "lost-response",
  "timeout",
  "taken-over",
] as const;
export type Fault = (typeof faults)[number];

/** A request of the operator to the API server or to the vault. */
export interface Effect {
  readonly name: string;
  readonly writesTarget: boolean;
  /**
   * False for a request that was sent before the recording began and received its response within
   * it.
   */
  readonly sent: boolean;
  /** Reports whether the server carried the request out; otherwise it was an error already. */
  responded: boolean;
}

const beforeFaults: readonly Fault[] = ["crash-before", "unavailable", "rejected", "taken-over"];

/** Returns the faults that can happen at an effect. */
export function faultsOf({ sent, responded, writesTarget }: Effect): Fault[] {
  const possible = faults.filter((fault) => (beforeFaults.includes(fault) ? sent : responded));
  return possible.filter((fault) => fault !== "taken-over" || writesTarget);
}

/** Numbers the requests of the operator while it records, and injects one fault at one of them. */
export class EffectTap {
  readonly effects: Effect[] = [];
  isRecording = false;
  fired = false;
  readonly #index: number | undefined;
  readonly #fault: Fault | undefined;
  readonly #numbers = new WeakMap<object, number>();

  constructor(index?: number, fault?: Fault) {
    this.#index = index;
    this.#fault = fault;
  }

  /** Called before a request is sent. Returns the fault to inject now, if any. */
  sent(request: object, name: string, writesTarget = false): Fault | undefined {
    if (!this.isRecording) return undefined;
    return this.#faultAt(
      this.#number(request, { name, writesTarget, sent: true, responded: false }),
      true,
    );
  }

  /** Called when a request was carried out. Returns the fault to inject now, if any. */
  responded(request: object, name: string): Fault | undefined {
    const known = this.#numbers.get(request);
    if (known === undefined && !this.isRecording) return undefined;
    const number =
      known ?? this.#number(request, { name, writesTarget: false, sent: false, responded: true });
    this.effects[number]!.responded = true;
    return this.#faultAt(number, false);
  }

  #number(request: object, effect: Effect): number {
    const number = this.effects.push(effect) - 1;
    this.#numbers.set(request, number);
    return number;
  }

  #faultAt(number: number, isBefore: boolean): Fault | undefined {
    const fault = this.#fault;
    if (
      this.fired ||
      fault === undefined ||
      number !== this.#index ||
      beforeFaults.includes(fault) !== isBefore
    )
      return undefined;
    this.fired = true;
    return fault;
  }
}
