import { InvalidArgumentError } from "commander";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `HOST:PORT`, where an IPv6 address is in brackets. @throws InvalidArgumentError */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]+)):([0-9]{1,5})$/u.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535)
    throw new InvalidArgumentError("expected HOST:PORT, for example 127.0.0.1:8200");
  return { host, port };
}
