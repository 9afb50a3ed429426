import type { Clock } from "#lib/clock.ts";
import { findCertificateProblem } from "#registry/epp/client-certificate.ts";
import type { EppTls } from "#registry/epp/connection.ts";
import { EppUnanswered } from "#registry/epp/errors.ts";

/** OpenSSL's alerts when a registry refuses our client certificate, or requires one. */
const certificateAlert =
  /ALERT_(CERTIFICATE_REQUIRED|UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(EXPIRED|UNKNOWN|REVOKED)|HANDSHAKE_FAILURE)/;
const versionFailure = /UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION|VERSION_TOO_LOW/;
/** OpenSSL's code when the other side does not speak TLS. Tried with an EPP greeting, SSH, SMTP and an HTTP answer. */
const noTls = "ERR_SSL_WRONG_VERSION_NUMBER";
/** Node's names for the results of X509_verify_cert. */
const untrusted = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|CERT_(HAS_EXPIRED|NOT_YET_VALID|UNTRUSTED|SIGNATURE_FAILURE)/;

const closedEarly = "the registry closed before its greeting: it may refuse our address or our client certificate";

/** The settings of the attempt. */
interface Attempt {
  tls: Pick<EppTls, "cert">;
  clock: Clock;
}

/** Why the connection failed, as a sentence for the operator. @param error thrown by `openConnection` */
export function describeConnectFailure(error: unknown, { tls, clock }: Attempt): string {
  const cause = error instanceof EppUnanswered && error.cause instanceof Error ? error.cause : error;
  const { code = "", message } = cause as NodeJS.ErrnoException;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "the registry's certificate is for another name than servername";
  if (untrusted.test(code)) return `the registry's certificate is not signed by an authority in caFile (${code})`;
  const problem = findCertificateProblem(tls.cert, clock.now());
  const mayBeRefused = certificateAlert.test(code) || code === "ECONNRESET" || isClosed(error);
  if (problem?.isInvalid && mayBeRefused) return `${problem.sentence}, and the registry closed the connection`;
  if (certificateAlert.test(code)) return `the registry refuses our client certificate (${code})`;
  if (versionFailure.test(code)) return `the registry does not support TLS 1.2 or newer (${code})`;
  if (code === noTls) return `the server does not speak TLS: are host and port right? (${code})`;
  if (code === "ECONNRESET") return closedEarly;
  // For a name with several addresses the error holds all of theirs and has no message.
  if (!(error instanceof EppUnanswered)) return message || `the connection failed (${code})`;
  if (error.reason === "timeout") return "the registry's greeting did not come in time";
  if (!isClosed(error)) return "the registry's greeting is not EPP";
  return closedEarly;
}

function isClosed(error: unknown): boolean {
  return error instanceof EppUnanswered && error.reason === "closed";
}
