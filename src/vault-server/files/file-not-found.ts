import { ServiceError } from "../errors.ts";

/** Another person's file too: names are per person. */
export function fileNotFound(): ServiceError {
  return new ServiceError("file_not_found", "there is no file of this name");
}

export function fileVersionNotFound(): ServiceError {
  return new ServiceError("version_not_found", "the file has no such version");
}
