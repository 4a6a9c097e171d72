import { createContext } from "preact";
import { useContext } from "preact/hooks";

const SendsEmail = createContext(true);
const TrashDays = createContext(0);

export const SendsEmailProvider = SendsEmail.Provider;
export const TrashDaysProvider = TrashDays.Provider;

/** Reports whether the vault sends emails; otherwise its operator has them. */
export function useSendsEmail(): boolean {
  return useContext(SendsEmail);
}

/** Returns the days for which the vault keeps what is deleted; 0 for none. */
export function useTrashDays(): number {
  return useContext(TrashDays);
}

/** Returns `30 days` or `1 day`. */
export function daysText(days: number): string {
  return `${days} ${days === 1 ? "day" : "days"}`;
}
