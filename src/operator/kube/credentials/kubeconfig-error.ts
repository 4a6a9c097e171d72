/** The configuration of the access to the API server cannot be used; the message says what to change, without quoting it. */
export class KubeConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "KubeConfigError";
  }
}
