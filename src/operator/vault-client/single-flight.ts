interface Flight<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

/** One reason for all: a new error would collect its stack for each piece of work. */
const ABANDONED = new DOMException("the last caller has left", "AbortError");

/**
 * Runs one piece of work for all concurrent callers of one key. Each caller may abort its own wait;
 * the work is aborted when the last caller has left. Neither results nor errors are cached.
 */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** @throws the error of the work, or the reason of the caller's own signal */
  async run(
    key: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiting += 1;
    try {
      return await raceAbort(flight.result, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) this.#end(key, flight);
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const abort = new AbortController();
    const flight: Flight<T> = { result: work(abort.signal), abort, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  #end(key: string, flight: Flight<T>): void {
    // Aborting finished work has no effect; the error of abandoned work is ignored.
    flight.abort.abort(ABANDONED);
    flight.result.catch(() => undefined);
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}

async function raceAbort<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
