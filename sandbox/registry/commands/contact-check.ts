import { contactUri } from "../namespaces.ts";
import type { CommandHandler } from "../registry.ts";
import { childrenOf, optionalTag, tag, tokenOf } from "../xml.ts";

/** RFC 5733 §3.1.1. */
export const checkContacts: CommandHandler = ({ registry, element }) => ({
  code: 1000,
  resData: tag(
    "contact:chkData",
    { "xmlns:contact": contactUri },
    childrenOf(element, "id").map((asked) => {
      const isUsed = registry.store.contacts.find(tokenOf(asked)) !== undefined;
      const id = tag("contact:id", { avail: isUsed ? "0" : "1" }, tokenOf(asked));
      return tag("contact:cd", {}, id, optionalTag("contact:reason", isUsed ? "In use" : undefined));
    }),
  ),
});
