import { StatementSync } from "node:sqlite";
import { vi } from "vitest";

/**
 * Runs a statement of a SQLite connection and returns its result. `rowsOf` returns the number of
 * rows that a result returned or changed.
 */
type RunStatement = <T>(sql: string, work: () => T, rowsOf: (result: T) => number) => T;

/** Lets `run` run the statements of all SQLite connections of this process, until disposed. */
export function spyOnStatements(run: RunStatement): Disposable {
  // oxlint-disable-next-line typescript/unbound-method -- both are called with their statement, by `apply`
  const { all, run: change } = StatementSync.prototype;
  const spies = [
    vi.spyOn(StatementSync.prototype, "all").mockImplementation(function (
      this: StatementSync,
      ...values
    ) {
      return run(
        this.sourceSQL,
        () => all.apply(this, values),
        ({ length }) => length,
      );
    }),
    vi.spyOn(StatementSync.prototype, "run").mockImplementation(function (
      this: StatementSync,
      ...values
    ) {
      return run(
        this.sourceSQL,
        () => change.apply(this, values),
        ({ changes }) => Number(changes),
      );
    }),
  ];
  const restore = (): void => {
    for (const spy of spies) spy.mockRestore();
  };
  return { [Symbol.dispose]: restore };
}
