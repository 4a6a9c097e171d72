import { ServiceError } from "../errors.ts";

/**
 * Runs `work` once per distinct name, in order; `details` of a ServiceError then name the index in
 * `key_name`.
 */
export async function forEachUniqueName<T>(
  names: readonly string[],
  work: (name: string) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  const done = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (done.has(name)) continue;
    done.add(name);
    try {
      results.push(await work(name));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const details = [{ path: `key_name.${index}`, reason: error.message }];
      throw new ServiceError(error.code, error.message, { details });
    }
  }
  return results;
}
