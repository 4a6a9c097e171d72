/** A problem of a template that its author can resolve. The message never contains a value. */
export class TemplateFault extends Error {
  override name = "TemplateFault";
}
