const UNITS = [
  { name: "d", ms: 24 * 3_600_000 },
  { name: "h", ms: 3_600_000 },
  { name: "m", ms: 60_000 },
  { name: "s", ms: 1_000 },
] as const;

/**
 * Formats a time in milliseconds in its largest unit, as kubectl formats ages: `42s`, `7m`, `5h`,
 * `12d`.
 */
export function formatAge(ms: number): string {
  const unit = UNITS.find((one) => ms >= one.ms * (one.name === "s" ? 0 : 2)) ?? UNITS[3];
  return `${Math.max(0, Math.floor(ms / unit.ms))}${unit.name}`;
}
