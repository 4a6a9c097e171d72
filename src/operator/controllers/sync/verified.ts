/**
 * Which state of which target was seen to hold what its annotations say: by the write that made it, or by reading it once.
 * Only identities are kept, never content.
 */
export class Verified {
  readonly #states = new Map<string, { readonly state: string; readonly type: string | undefined }>();

  mark(target: string, uid: string, resourceVersion: string, type: string | undefined): void {
    this.#states.set(target, { state: `${uid}/${resourceVersion}`, type });
  }

  /** Whether this state was seen, and seen to be right. */
  isState(target: string, uid: string, resourceVersion: string): boolean {
    return this.#states.get(target)?.state === `${uid}/${resourceVersion}`;
  }

  /** The same, for a resource that asks for this type. */
  has(target: string, uid: string, resourceVersion: string, type: string | undefined): boolean {
    return this.isState(target, uid, resourceVersion) && this.#states.get(target)?.type === type;
  }

  forget(target: string): void {
    this.#states.delete(target);
  }
}
