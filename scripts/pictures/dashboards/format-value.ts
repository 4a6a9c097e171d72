const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];
const suffixes: Readonly<Record<string, string>> = { reqps: " req/s", ops: " ops/s" };

function short(value: number, digits = 3): string {
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(digits)));
}

function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 0.001) return `${short(value * 1e6)} µs`;
  if (size < 1) return `${short(value * 1e3)} ms`;
  if (size < 60) return `${short(value)} s`;
  return size < 3_600 ? `${short(value / 60)} min` : `${short(value / 3_600)} h`;
}

function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(BINARY.length - 1, Math.floor(Math.log2(value) / 10));
  return `${short(value / 1_024 ** power)} ${BINARY[power]}`;
}

/** Returns a value in a unit of Grafana, as it writes it. */
export function formatValue(value: number, unit: string, decimals?: number): string {
  if (Number.isNaN(value)) return "–";
  if (unit === "s") return seconds(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "percentunit")
    return `${(value * 100).toFixed(decimals ?? (value > 0 && value < 0.1 ? 1 : 0))}%`;
  return `${short(value)}${suffixes[unit] ?? ""}`;
}
