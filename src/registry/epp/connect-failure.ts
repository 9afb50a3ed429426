import type { Clock } from "#lib/clock.ts";
import { findCertificateTrouble } from "#registry/epp/client-certificate.ts";
import type { EppTls } from "#registry/epp/connection.ts";
import { EppUnanswered } from "#registry/epp/errors.ts";

/** OpenSSL's alerts from a registry that does not like who we are: our client certificate, or its absence. */
const certificateAlert =
  /ALERT_(CERTIFICATE_REQUIRED|UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(EXPIRED|UNKNOWN|REVOKED)|HANDSHAKE_FAILURE)/;
const versionFailure = /UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION|VERSION_TOO_LOW/;
/** Whatever somebody says who does not speak TLS: EPP's greeting, SSH's, SMTP's and an HTTP answer were tried. */
const noTls = "ERR_SSL_WRONG_VERSION_NUMBER";
/** X509_verify_cert's verdicts, as Node names them. */
const notVouchedFor = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|CERT_(HAS_EXPIRED|NOT_YET_VALID|UNTRUSTED|SIGNATURE_FAILURE)/;

const closedEarly = "the registry closed before its greeting: it may refuse our address or our client certificate";

/** With what it was tried. */
interface Attempt {
  tls: Pick<EppTls, "cert">;
  clock: Clock;
}

/** Why there is no connection, as a sentence for the operator. @param error what `openConnection` threw */
export function describeConnectFailure(error: unknown, { tls, clock }: Attempt): string {
  const cause = error instanceof EppUnanswered && error.cause instanceof Error ? error.cause : error;
  const { code = "", message } = cause as NodeJS.ErrnoException;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "the registry's certificate bears another name than servername";
  if (notVouchedFor.test(code)) return `nobody in caFile vouches for the registry's certificate (${code})`;
  const trouble = findCertificateTrouble(tls.cert, clock.now());
  const mayBeRefused = certificateAlert.test(code) || code === "ECONNRESET" || isClosed(error);
  if (trouble?.isInvalid && mayBeRefused) return `${trouble.sentence}, and the registry closed the connection`;
  if (certificateAlert.test(code)) return `the registry refuses our client certificate (${code})`;
  if (versionFailure.test(code)) return `the registry has no TLS of version 1.2 or newer (${code})`;
  if (code === noTls) return `who answers there speaks no TLS: are host and port right? (${code})`;
  if (code === "ECONNRESET") return closedEarly;
  // A name with several addresses fails with all of their errors together, and no words of its own.
  if (!(error instanceof EppUnanswered)) return message || `the connection failed (${code})`;
  if (error.reason === "timeout") return "the registry's greeting did not come in time";
  if (!isClosed(error)) return "what the registry greets with is no EPP";
  return closedEarly;
}

function isClosed(error: unknown): boolean {
  return error instanceof EppUnanswered && error.reason === "closed";
}
