/** The client's commands by the answer that they read: what an answer brings, and where a text without parser has it. */
import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { contactCheck } from "#registry/epp/commands/contact/check.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { contactInfo } from "#registry/epp/commands/contact/info.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";
import { domainTransfer } from "#registry/epp/commands/domain/transfer.ts";
import { hostCheck } from "#registry/epp/commands/host/check.ts";
import { hostCreate } from "#registry/epp/commands/host/create.ts";
import { hostInfo } from "#registry/epp/commands/host/info.ts";

export interface AnswerReader {
  /** A command about the object of that name or id. */
  command: (id: string) => EppCommand<unknown>;
  /** The field of what is read → the element whose text it is. */
  fields: Readonly<Record<string, string>>;
}

const authInfo = new Secret("unused");
const postalInfo = { type: "int", name: "A", street: [], city: "B", cc: "DE" } as const;

/** By the child of `<resData>`: its object's schema and its name. */
export const answerReaders: Readonly<Record<string, AnswerReader>> = {
  "domain-1.0 chkData": { command: (id) => domainCheck(id), fields: {} },
  "domain-1.0 infData": {
    command: (id) => domainInfo(id),
    fields: { name: "name", roid: "roid", clID: "clID", crID: "crID", registrant: "registrant" },
  },
  "domain-1.0 creData": {
    command: (id) => domainCreate({ name: id, periodYears: 1, contacts: [], authInfo }),
    fields: { name: "name", crDate: "crDate", exDate: "exDate" },
  },
  "domain-1.0 renData": {
    command: (id) => domainRenew({ name: id, currentExDate: new Date(0), periodYears: 1 }),
    fields: { name: "name", exDate: "exDate" },
  },
  "domain-1.0 trnData": {
    command: (id) => domainTransfer("query", { name: id }),
    fields: { id: "name", status: "trStatus", reID: "reID", reDate: "reDate", acID: "acID", acDate: "acDate" },
  },
  "contact-1.0 chkData": { command: contactCheck, fields: {} },
  "contact-1.0 infData": {
    command: (id) => contactInfo(id),
    fields: { id: "id", roid: "roid", email: "email", clID: "clID", crDate: "crDate" },
  },
  "contact-1.0 creData": {
    command: (id) => contactCreate({ id, postalInfo, email: "a@b.example", authInfo }),
    fields: { id: "id", crDate: "crDate" },
  },
  "host-1.0 chkData": { command: hostCheck, fields: {} },
  "host-1.0 infData": {
    command: hostInfo,
    fields: { name: "name", roid: "roid", clID: "clID", crDate: "crDate", upDate: "upDate" },
  },
  "host-1.0 creData": {
    command: (id) => hostCreate({ name: id, addresses: [] }),
    fields: { name: "name", crDate: "crDate" },
  },
};
