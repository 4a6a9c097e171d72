import { ServiceError } from "../errors.ts";

export function versionNotFound(): ServiceError {
  return new ServiceError("version_not_found", "the secret has no such version");
}
