import { fastify } from "fastify";

/** Whether a value fits a schema. */
export type Fits = (value: unknown) => boolean;

/**
 * Compiles JSON Schemas that point into an OpenAPI document with a validator that is not ours: the one the HTTP framework brings.
 */
export async function schemaCompiler(document: { readonly components: object }): Promise<(schema: object) => Fits> {
  const app = fastify({
    ajv: { customOptions: { coerceTypes: false, useDefaults: false, removeAdditional: false, strict: false } },
  });
  const { promise, resolve } = Promise.withResolvers<(schema: object) => Fits>();
  app.route({
    method: "GET",
    url: "/",
    handler: async (request) => {
      resolve((schema) => {
        const validate = request.compileValidationSchema({ components: document.components, ...schema }, "body");
        return (value) => validate(value);
      });
      return {};
    },
  });
  await app.inject({ url: "/" });
  return promise;
}
