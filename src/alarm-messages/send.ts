/** Sends one notice by one channel. */
import { jsonOf, type Notice, slackOf } from "#alarm-messages/notice.ts";
import { sendMail } from "#alarm-messages/send-mail.ts";
import type { AlarmChannels } from "#config-alarms.ts";
import { type Clock, unixSeconds } from "#lib/clock.ts";
import { systemLookups } from "#lib/net/name-lookups.ts";
import type { Secret } from "#lib/secret.ts";
import { type SendContext, sendWebhook } from "#webhooks/send.ts";
import { webhookHeaders } from "#webhooks/signature.ts";

export const channelNames = ["mail", "webhook", "slack"] as const satisfies (keyof AlarmChannels)[];
export type ChannelName = (typeof channelNames)[number];

export interface Sent {
  isSent: boolean;
  /** Why it was not, for people; or what is wrong although it was. */
  errorText?: string;
  /** When the receiver is busy, and says for how long. */
  retryAfterMs?: number;
}

/** Never throws: whatever goes wrong is the answer's error. */
export type Send = (notice: Notice) => Promise<Sent>;

/** @returns the channels that are set up */
export function openChannels(
  context: { clock: Clock },
  { mail, webhook, slack }: AlarmChannels,
): Partial<Record<ChannelName, Send>> {
  return {
    ...(mail && { mail: (notice: Notice) => sendMail(mail, notice) }),
    ...(webhook && {
      webhook: (notice: Notice) => {
        const body = jsonOf(notice);
        const content = { id: notice.id, timestamp: unixSeconds(context.clock), body };
        return post(context, webhook.url, body, webhookHeaders(content, [webhook.secret]));
      },
    }),
    ...(slack && { slack: (notice: Notice) => post(context, slack.url, slackOf(notice), {}) }),
  };
}

/** No reseller has it. */
const operatorId = 0;

/** The operator chooses the receiver: one at an inner address is meant. */
const everywhere: Omit<SendContext, "clock"> = {
  webhooks: { ranges: ["0.0.0.0/0", "::/0"], allowsPlainHttp: true, ca: undefined },
  names: systemLookups,
};

async function post({ clock }: { clock: Clock }, url: Secret, body: string, headers: Record<string, string>) {
  const request = { resellerId: operatorId, url: url.reveal(), headers, body };
  const { isDelivered, errorText, retryAfterMs } = await sendWebhook({ ...everywhere, clock }, request);
  return { isSent: isDelivered, errorText, retryAfterMs };
}
