import { ApiError } from "#errors.ts";
import { InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";

/** The domain name in a request's path. @throws ApiError `domain_not_valid` */
export function parsePathName(text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainName)) throw error;
    throw new ApiError("domain_not_valid", { text: `This is not a valid domain name: ${error.message}` });
  }
}
