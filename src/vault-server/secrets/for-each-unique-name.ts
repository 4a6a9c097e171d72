import { ServiceError } from "../errors.ts";

/** Does `work` for each name once, in order; where it is refused, the refusal's `details` say at which place of `key_name`. */
export async function forEachName<T>(names: readonly string[], work: (name: string) => Promise<T>): Promise<T[]> {
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
