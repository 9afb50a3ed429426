/** The requests that provoke the errors of contacts, on the stage of errors.test.ts. */
import { ada } from "../harness/contacts.ts";
import type { TestReseller } from "../harness/gateway.ts";
import type { Scenario, Scenarios } from "./scenario.ts";

/** A registration with a contact that is not valid. */
export const wrongContact: Scenario = {
  target: "/domains/registrations",
  body: { domain_name: "a.example", contacts: { admin: { ...ada, email: "a" } } },
  fields: ["contacts.admin.email"],
};

type Ordering = (path: string, body: object, mistakes: [body: object, ...fields: string[]][]) => Scenarios[string];

/** @param ordering what every order about a registered name refuses */
export const contactScenarios = (rival: TestReseller, ordering: Ordering): Scenarios => ({
  "GET /domains/:domain_name/contacts": {
    domain_not_valid: [{ target: "/domains/example/contacts" }],
    domain_not_found: [
      { target: "/domains/nobodys.example/contacts" },
      { as: rival, target: "/domains/own.example/contacts" },
    ],
  },
  "PUT /domains/:domain_name/contacts": ordering("contacts", { admin: ada }, [
    [{}, "registrant"],
    [{ tech: [] }, "tech"],
    [{ registrant: { ...ada, phone: "1", city: "" } }, "registrant.phone", "registrant.city"],
  ]),
});
