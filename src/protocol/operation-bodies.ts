import type { z } from "zod";
import type { Operation } from "./operation-paths.ts";
import type { JsonRequestOperation, operations } from "./operations.ts";

type Definitions = typeof operations;

/** An operation whose request and response are JSON: all but uploads and downloads. */
export type JsonOperation = {
  [O in JsonRequestOperation]: Definitions[O]["response"] extends z.ZodType ? O : never;
}[JsonRequestOperation];

/**
 * The body of a request as a client writes it. A client adds the email of its account to the
 * operations that name their caller.
 */
export type RequestBody<O extends JsonRequestOperation> = Omit<
  z.input<ReturnType<Definitions[O]["request"]>>,
  "email"
>;

/** The body of a successful response. */
export type ResponseBody<O extends Operation> = z.output<
  Extract<Definitions[O]["response"], z.ZodType>
>;
