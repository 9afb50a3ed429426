/** The requests that provoke the errors of contacts, on the stage of errors.test.ts. */
import type { TestReseller } from "../harness/gateway.ts";
import type { Scenario, Scenarios } from "./scenario.ts";

const person = {
  first_name: "Ada",
  last_name: "Byron",
  email: "ada@mail.example",
  phone: "+44.2079460001",
  address: "Mews 7",
  postal_code: "EC1A 1BB",
  city: "London",
  country_code: "GB",
};

/** A registration with a contact that is not valid. */
export const wrongContact: Scenario = {
  target: "/domains/registrations",
  body: { domain_name: "a.example", contacts: { admin: { ...person, email: "a" } } },
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
  "PUT /domains/:domain_name/contacts": ordering("contacts", { admin: person }, [
    [{}, "registrant"],
    [{ tech: [] }, "tech"],
    [{ registrant: { ...person, phone: "1", city: "" } }, "registrant.phone", "registrant.city"],
  ]),
});
