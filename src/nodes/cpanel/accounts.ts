/** Reads a panel's accounts. A panel's answer to a change never proves it; reading the account again does. */
import { type Static, Type } from "typebox";
import { keyOf, type MarkerSettings, panelDomain, panelUser } from "#nodes/cpanel/names.ts";
import { parse, type Whm } from "#nodes/cpanel/whm.ts";
import { type AccountKey, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

export const mebibyte = 1024 * 1024;

/** Panels send numbers as numbers or as text. */
const Count = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: "^[0-9]{1,15}$" })]);
/** `14M`, or a word such as `none` where nothing was counted yet. */
const Size = Type.Union([Type.String({ maxLength: 30 }), Type.Integer({ minimum: 0 })]);
const Shown = Type.Object({
  user: Type.String(),
  domain: Type.String(),
  email: Type.String(),
  suspended: Type.Union([Type.Boolean(), Count]),
  diskused: Size,
  disklimit: Size,
  inodesused: Type.Optional(Count),
});
type Shown = Static<typeof Shown>;
const List = Type.Object({ acct: Type.Array(Shown) });

/** An account that carries our marker. */
export interface PanelAccount extends AccountKey {
  user: string;
  domain: string;
  suspended: boolean;
  bytesUsed: number;
  /** Files of the whole account, including the panel's own. */
  filesUsed: number;
  /** Undefined: unlimited. */
  diskBytesMax: number | undefined;
}

export type LookSettings = MarkerSettings & { siteDomain: string };

export interface Look {
  /**
   * Returns the account with this uid and identifier; undefined when neither is in use.
   * @throws NodeRefused identifier_taken when a foreign account uses either, uid_taken when another account of ours has the uid
   */
  lookUp(key: AccountKey): Promise<PanelAccount | undefined>;
  /** Finds the account by its main domain. */
  find(identifier: string): Promise<PanelAccount | undefined>;
  list(): Promise<PanelAccount[]>;
}

/** All three throw NodeUnavailable when the panel cannot be reached, and return only accounts that carry our marker. */
export function createLook(whm: Whm, settings: LookSettings): Look {
  const search = async (by: Record<string, string>) => {
    const answer = await whm.call("listaccts", by);
    if (!answer.isOk) throw new NodeUnavailable(`the panel does not list accounts: ${answer.reason}`);
    return parse(List, answer.data, "listaccts").acct;
  };
  const exactly = (searchtype: "user" | "domain", text: string) =>
    search({ searchtype, searchmethod: "exact", search: text });

  /** A summary may be refused for any reason, so only an empty list proves that there is no account. */
  const ofUser = async (user: string): Promise<Shown | undefined> => {
    const answer = await whm.call("accountsummary", { user });
    const [shown] = answer.isOk ? parse(List, answer.data, "accountsummary").acct : await exactly("user", user);
    if (shown && shown.user !== user)
      throw new NodeUnavailable("the panel returned another account than the requested one");
    return shown;
  };

  return {
    async lookUp({ identifier, uid }) {
      const shown = await ofUser(panelUser(uid));
      if (shown) {
        const account = toAccount(settings, shown);
        if (!account) throw new NodeRefused("identifier_taken");
        if (account.identifier !== identifier) throw new NodeRefused("uid_taken");
        return account;
      }
      const [holder] = await exactly("domain", panelDomain(identifier, settings.siteDomain));
      if (holder) throw new NodeRefused("identifier_taken");
      return undefined;
    },
    async find(identifier) {
      const [shown] = await exactly("domain", panelDomain(identifier, settings.siteDomain));
      return shown && toAccount(settings, shown);
    },
    async list() {
      return (await search({})).flatMap((shown) => toAccount(settings, shown) ?? []);
    },
  };
}

function toAccount(settings: LookSettings, shown: Shown): PanelAccount | undefined {
  const key = keyOf(settings, shown);
  if (!key) return undefined;
  return {
    ...key,
    user: shown.user,
    domain: shown.domain,
    suspended: Number(shown.suspended) === 1,
    bytesUsed: bytesOf(shown.diskused) ?? 0,
    filesUsed: Number(shown.inodesused ?? 0),
    diskBytesMax: bytesOf(shown.disklimit),
  };
}

/** `14M` is in MiB, according to the documentation. Text without a number means nothing counted, or no limit. */
function bytesOf(size: string | number): number | undefined {
  const [, count] = /^([0-9]{1,9})M?$/.exec(String(size)) ?? [];
  return count === undefined ? undefined : Number(count) * mebibyte;
}
