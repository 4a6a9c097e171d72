import { isDenied, type RequestProblems, type RequestSubject } from "../request-problems.ts";
import type { CollectionPart, NamespacedCollection } from "./reflector-group.ts";

export interface NamespaceWatchesOptions {
  /**
   * The collections of a namespace, in the order in which its objects are reported: an object
   * follows those that it needs.
   */
  readonly collections: readonly NamespacedCollection[];
  /**
   * Watches in a served namespace. Serving does not wait for them. Each runs until the signal is
   * aborted and never rejects.
   */
  readonly dependents: readonly { run(namespace: string, signal: AbortSignal): Promise<void> }[];
  readonly problems: RequestProblems | undefined;
}

/**
 * The namespaces that the operator serves. Each namespace is served once its own collections are
 * listed. Until then none of its objects is reported: a target would otherwise count as absent
 * because its list is missing. A namespace whose lists are denied later keeps its objects.
 */
export class NamespaceWatches implements AsyncDisposable {
  readonly #options: NamespaceWatchesOptions;
  readonly #watched = new Map<string, NamespaceWatch>();
  readonly #running = new Set<Promise<void>>();
  readonly #ready = Promise.withResolvers<void>();

  constructor(options: NamespaceWatchesOptions) {
    this.#options = options;
  }

  /**
   * Resolves once at least one namespace is served and the API server denies the lists of all
   * others.
   */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Reports for each namespace whether the API server denies its lists or watches. */
  get denied(): ReadonlyMap<string, boolean> {
    return new Map(
      [...this.#watched].map(([namespace, { isDenied: denied }]) => [namespace, denied]),
    );
  }

  /** Number of namespaces that are not served yet. */
  get listing(): number {
    return [...this.#watched.values()].filter(({ isServed }) => !isServed).length;
  }

  /**
   * Reports whether all objects of all namespaces are known: a namespace whose lists or watches are
   * denied since it was served may have new ones.
   */
  get isComplete(): boolean {
    return [...this.#watched.values()].every((watch) => watch.isServed && !watch.isDenied);
  }

  /** Reports whether the API server denies the lists of all namespaces that are not served. */
  get isSettled(): boolean {
    return [...this.#watched.values()].every((watch) => watch.isServed || watch.isDenied);
  }

  /**
   * Serves these namespaces from now on, and no other. The objects of one that is not served any
   * more are reported as deleted.
   */
  serve(namespaces: readonly string[]): void {
    for (const [namespace, watch] of this.#watched) {
      if (namespaces.includes(namespace)) continue;
      this.#watched.delete(namespace);
      watch.close();
    }
    for (const namespace of namespaces) {
      if (this.#watched.has(namespace)) continue;
      const watch = new NamespaceWatch(namespace, this.#options, () => this.#check());
      this.#watched.set(namespace, watch);
      const running = watch.run().finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    this.#check();
  }

  /** Ends all watches. Their objects are not reported as deleted. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const watch of this.#watched.values()) watch.stop();
    await Promise.all(this.#running);
  }

  #check(): void {
    const isServing = [...this.#watched.values()].some(({ isServed }) => isServed);
    if (isServing && this.isSettled) this.#ready.resolve();
  }
}

/** The watches of one namespace. */
class NamespaceWatch implements RequestProblems {
  isServed = false;
  readonly #namespace: string;
  readonly #options: NamespaceWatchesOptions;
  readonly #onChange: () => void;
  readonly #stop = new AbortController();
  readonly #parts: readonly CollectionPart[];
  /** Lists and watches that fail, and whether the API server denies them. */
  readonly #failing = new Map<object, boolean>();

  constructor(namespace: string, options: NamespaceWatchesOptions, onChange: () => void) {
    this.#namespace = namespace;
    this.#options = options;
    this.#onChange = onChange;
    this.#parts = options.collections.map((collection) => collection.open(namespace, this));
  }

  get isDenied(): boolean {
    return [...this.#failing.values()].includes(true);
  }

  /** Runs until it is stopped or closed. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    const listed = Promise.all(this.#parts.map(({ synced }) => synced)).then(
      () => this.#serve(),
      () => undefined,
    );
    await Promise.all([listed, ...this.#parts.map((part) => part.run(signal))]);
  }

  failed(request: object, subject: RequestSubject, error: unknown): void {
    this.#options.problems?.failed(request, subject, error);
    this.#failing.set(request, isDenied(subject, error));
    this.#onChange();
  }

  recovered(request: object): void {
    this.#options.problems?.recovered(request);
    this.#failing.delete(request);
  }

  stop(): void {
    this.#stop.abort(new Error("the namespace is not served any more"));
  }

  /** Ends the watches and reports all objects as deleted: first those that need others. */
  close(): void {
    this.stop();
    for (const request of this.#failing.keys()) this.recovered(request);
    for (const part of this.#parts.toReversed()) part.hide();
  }

  async #serve(): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    for (const part of this.#parts) part.show();
    for (const part of this.#parts) part.report();
    this.isServed = true;
    this.#onChange();
    await Promise.all(this.#options.dependents.map((watch) => watch.run(this.#namespace, signal)));
  }
}
