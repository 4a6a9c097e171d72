import { createContext } from "preact";
import { useContext } from "preact/hooks";

const Context = createContext(0);

export const TrashDaysProvider = Context.Provider;

/** Returns the days for which the vault keeps what is deleted; 0 for none. */
export function useTrashDays(): number {
  return useContext(Context);
}

/** Returns `30 days` or `1 day`. */
export function daysText(days: number): string {
  return `${days} ${days === 1 ? "day" : "days"}`;
}
