import { fastify } from "fastify";

/** Reports whether a value matches a schema. */
export type Matcher = (value: unknown) => boolean;

/**
 * Compiles JSON Schemas that refer to an OpenAPI document, with the independent validator of the
 * HTTP framework.
 */
export async function schemaCompiler(document: {
  readonly components: object;
}): Promise<(schema: object) => Matcher> {
  const app = fastify({
    ajv: {
      customOptions: {
        coerceTypes: false,
        useDefaults: false,
        removeAdditional: false,
        strict: false,
      },
    },
  });
  const { promise, resolve } = Promise.withResolvers<(schema: object) => Matcher>();
  app.route({
    method: "GET",
    url: "/",
    handler: async (request) => {
      resolve((schema) => {
        const validate = request.compileValidationSchema(
          { components: document.components, ...schema },
          "body",
        );
        return (value) => validate(value);
      });
      return {};
    },
  });
  await app.inject({ url: "/" });
  return promise;
}
