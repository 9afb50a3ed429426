/** Sends a notice as a mail. */
import { createTransport } from "nodemailer";
import { type Notice, subjectOf, textOf } from "#alarm-messages/notice.ts";
import type { Sent } from "#alarm-messages/send.ts";
import { type AlarmChannels, isLoopback, type SmtpServer } from "#config-alarms.ts";

/** Of each part of the dialogue. */
const answerMsMax = 10_000;
const silenceMsMax = 20_000;

/** A mail that is sent again has the same Message-ID, and the end of an alarm answers its beginning. */
export async function sendMail(
  { server, from, to }: NonNullable<AlarmChannels["mail"]>,
  notice: Notice,
): Promise<Sent> {
  const domain = from.slice(from.lastIndexOf("@") + 1);
  const messageId = (id: string) => `<${id}@${domain}>`;
  const opening = notice.id.replace(/_resolved$/, "_opened");
  const transport = createTransport(transportTo(server));
  try {
    const { rejected } = await transport.sendMail({
      from,
      to,
      messageId: messageId(notice.id),
      ...(opening !== notice.id && { inReplyTo: messageId(opening), references: messageId(opening) }),
      date: notice.at,
      subject: subjectOf(notice),
      text: textOf(notice),
      // RFC 3834 §5: no absence note answers it.
      headers: { "auto-submitted": "auto-generated" },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    // The others have it.
    return rejected.length === 0 ? { isSent: true } : { isSent: true, errorText: `It refused ${rejected.join(", ")}.` };
  } catch (error) {
    return { isSent: false, errorText: `${server.host}:${server.port}: ${(error as Error).message}` };
  } finally {
    transport.close();
  }
}

/** A server on this machine has no certificate for its name, and nobody listens between; elsewhere a password needs TLS. */
function transportTo({ host, port, isSecure, login }: SmtpServer) {
  return {
    host,
    port,
    secure: isSecure,
    ignoreTLS: isLoopback(host),
    requireTLS: login !== undefined && !isLoopback(host),
    ...(login && { auth: { user: login.user, pass: login.password.reveal() } }),
    connectionTimeout: answerMsMax,
    greetingTimeout: answerMsMax,
    dnsTimeout: answerMsMax,
    socketTimeout: silenceMsMax,
  };
}
