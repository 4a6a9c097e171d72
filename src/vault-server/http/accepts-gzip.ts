import type { IncomingHttpHeaders } from "node:http";

/** Reports whether a client accepts responses that gzip compresses (RFC 9110, section 12.5.3). */
export function acceptsGzip({ "accept-encoding": accepted = "" }: IncomingHttpHeaders): boolean {
  return [accepted]
    .flat()
    .join(",")
    .split(",")
    .some((coding) => {
      const [name = "", ...parameters] = coding.split(";").map((part) => part.trim().toLowerCase());
      return name === "gzip" && !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/u.test(parameter));
    });
}
