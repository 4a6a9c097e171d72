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

  /** @throws the error of the work, or the reason of the first of the caller's signals to abort */
  async run(
    key: string,
    signals: readonly AbortSignal[],
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (const signal of signals) signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiting += 1;
    try {
      return await raceAbort(flight.result, signals);
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

/** As a race with `AbortSignal.any`; that takes more CPU time than all else that waits here. */
async function raceAbort<T>(result: Promise<T>, signals: readonly AbortSignal[]): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = ({ target }: Event): void =>
    reject(target instanceof AbortSignal ? target.reason : undefined);
  for (const signal of signals) signal.addEventListener("abort", abort, { once: true });
  result.then(resolve, reject);
  try {
    return await promise;
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", abort);
  }
}
