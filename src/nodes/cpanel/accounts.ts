/** Looking at a panel's accounts. What a panel says about a change is never the proof of it: looking is. */
import { type Static, Type } from "typebox";
import { keyOf, type MarkerSettings, panelDomain, panelUser } from "#nodes/cpanel/names.ts";
import { parse, type Whm } from "#nodes/cpanel/whm.ts";
import { type AccountKey, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

export const mebibyte = 1024 * 1024;

/** Numbers come as numbers or as text. */
const Count = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: "^[0-9]{1,15}$" })]);
/** `14M`, or `none` and the like where nothing was counted yet. */
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
  /** Files of the whole account, those of the panel's own too. */
  filesUsed: number;
  /** Nothing: unlimited. */
  diskBytesMax: number | undefined;
}

export type LookSettings = MarkerSettings & { siteDomain: string };

export interface Look {
  /**
   * The account of this uid and identifier; nothing when there is none of either.
   * @throws NodeRefused identifier_taken when either is somebody else's, uid_taken when the uid is another one's of ours
   */
  lookUp(key: AccountKey): Promise<PanelAccount | undefined>;
  /** Whose main domain it is. */
  find(identifier: string): Promise<PanelAccount | undefined>;
  list(): Promise<PanelAccount[]>;
}

/** All three throw NodeUnavailable when the panel cannot be asked; what they show carries our marker. */
export function createLook(whm: Whm, settings: LookSettings): Look {
  const search = async (by: Record<string, string>) => {
    const answer = await whm.call("listaccts", by);
    if (!answer.isOk) throw new NodeUnavailable(`the panel does not list accounts: ${answer.reason}`);
    return parse(List, answer.data, "listaccts").acct;
  };
  const exactly = (searchtype: "user" | "domain", text: string) =>
    search({ searchtype, searchmethod: "exact", search: text });

  /** A summary that is refused may have any cause, so only an empty list says that there is none. */
  const ofUser = async (user: string): Promise<Shown | undefined> => {
    const answer = await whm.call("accountsummary", { user });
    const [shown] = answer.isOk ? parse(List, answer.data, "accountsummary").acct : await exactly("user", user);
    if (shown && shown.user !== user) throw new NodeUnavailable("the panel shows another account than was asked for");
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

/** `14M` are MiB, as the documentation says; without a number there is nothing, or no limit. */
function bytesOf(size: string | number): number | undefined {
  const [, count] = /^([0-9]{1,9})M?$/.exec(String(size)) ?? [];
  return count === undefined ? undefined : Number(count) * mebibyte;
}
