/** A contact as callers send it and see it: its fields, and what each of them may be. */
import Type, { type Static } from "typebox";
import type { RowOf } from "#db/statement.ts";
import type { ValidationError } from "#errors.ts";
import { isCountryCode } from "#lib/countries.ts";
import { parsePhoneNumber } from "#lib/phone-number.ts";
import { type ContactFieldValue, fitsField } from "#registry/contact-fields.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { badBody } from "#use-case/body.ts";

const optionalText = Type.Optional(Type.String());

export const contactExample = {
  first_name: "Ada",
  last_name: "Byron",
  company_name: "Engines Ltd",
  email: "ada@mail.example",
  phone: "+44.2079460001",
  address: "Mews 7",
  postal_code: "EC1A 1BB",
  city: "London",
  country_code: "GB",
};

export const contactShape = Type.Object(
  {
    first_name: Type.String(),
    last_name: Type.String(),
    company_name: optionalText,
    email: Type.String(),
    phone: Type.String({ description: "With its country's code (E.164)." }),
    fax: optionalText,
    address: Type.String(),
    postal_code: Type.String(),
    city: Type.String(),
    state: optionalText,
    country_code: Type.String({ description: "ISO 3166-1." }),
    language_code: optionalText,
    enterprise_number: optionalText,
    extra_fields: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
        description: "Fields that only some registries ask for, by name.",
      }),
    ),
  },
  {
    title: "Contact",
    examples: [contactExample],
  },
);
/** Fields that are left out are absent. */
export type Contact = Static<typeof contactShape>;
/** The fields that every registry knows. */
type PlainField = Exclude<keyof Contact, "extra_fields">;

/** A name's contacts besides its registrant. */
export const otherRoles = ["admin", "tech", "billing"] as const;
export const contactRoles = ["registrant", ...otherRoles] as const;
export type ContactRole = (typeof contactRoles)[number];
export type GivenContacts = Partial<Record<ContactRole, Contact>>;

export const isRequiredRole = ({ contactTypes }: RegistryProfile, role: ContactRole): boolean =>
  role === "registrant" || contactTypes.includes(role);

interface Field {
  isRequired: boolean;
  charsMax: number;
  /** The value in its one form; `undefined` when it is not valid. Default: any text. */
  parse?(text: string): string | undefined;
  /** What a valid value looks like. */
  says?: string;
}

/** The names of a person are one element, with a space between them. */
const fullNameCharsMax = 255;
/** RFC 5733 §4: postalLineType and pcType. */
const lineCharsMax = 255;
const postalCodeCharsMax = 16;
/** RFC 5321 §4.5.3.1.3. */
const emailCharsMax = 254;
const phoneCharsMax = 32;
const languageCharsMax = 35;
const enterpriseNumberCharsMax = 64;
const extraName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const matching = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : undefined);
const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const email = new RegExp(
  `^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@(?:${label}\\.)+[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])$`,
);

function parseCountry(text: string): string | undefined {
  const code = text.toUpperCase();
  return isCountryCode(code) ? code : undefined;
}

const line = { isRequired: true, charsMax: lineCharsMax };
const optionalLine = { isRequired: false, charsMax: lineCharsMax };
const phone = {
  charsMax: phoneCharsMax,
  parse: parsePhoneNumber,
  says: "Give the number with its country's code (E.164), like +32.25550100.",
};

/** In the order in which a contact is shown, and of which its digest is made. */
const fields: Readonly<Record<PlainField, Field>> = {
  first_name: line,
  last_name: line,
  company_name: optionalLine,
  email: { isRequired: true, charsMax: emailCharsMax, parse: matching(email), says: "This is not an e-mail address." },
  phone: { isRequired: true, ...phone },
  fax: { isRequired: false, ...phone },
  address: line,
  postal_code: { isRequired: true, charsMax: postalCodeCharsMax },
  city: line,
  state: optionalLine,
  country_code: {
    isRequired: true,
    charsMax: 2,
    parse: parseCountry,
    says: "Give the code of a country by ISO 3166-1, like BE.",
  },
  language_code: {
    isRequired: false,
    charsMax: languageCharsMax,
    parse: matching(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/),
    says: "Give a language tag, like nl or nl-BE.",
  },
  enterprise_number: { isRequired: false, charsMax: enterpriseNumberCharsMax },
};
const fieldNames = Object.keys(fields) as PlainField[];

/** Characters that XML, or a person who reads the contact, cannot take; `u` refuses halves of surrogate pairs. */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/u;

/**
 * Reads the contacts of a request. What is absent, null or an empty text is left out.
 * @param given the values by role @param path of a role in the body, like `contacts.admin`
 * @throws ApiError `bad_request` with an entry per field
 */
export function parseContacts(
  given: Partial<Record<ContactRole, unknown>>,
  path: (role: ContactRole) => string = (role) => role,
): GivenContacts {
  const problems: ValidationError[] = [];
  const contacts: GivenContacts = {};
  for (const role of contactRoles) {
    const value = given[role] ?? undefined;
    if (value !== undefined) contacts[role] = parseContact(value, path(role), problems);
  }
  if (problems.length > 0) throw badBody(problems);
  return contacts;
}

const invalid = (field: string, error_text: string): ValidationError => ({ error_code: "invalid", error_text, field });

function parseContact(value: unknown, path: string, problems: ValidationError[]): Contact {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    problems.push(invalid(path, "Give an object with the fields of a contact."));
    return {} as Contact;
  }
  const given = value as Record<string, unknown>;
  const entries = fieldNames.flatMap((name) => {
    const text = parseField(given[name], fields[name], `${path}.${name}`, problems);
    return text === undefined ? [] : [[name, text] as const];
  });
  const extra = parseExtraFields(given.extra_fields ?? [], `${path}.extra_fields`, problems);
  const contact = Object.fromEntries(entries) as unknown as Contact;
  if (extra.length > 0) contact.extra_fields = extra;
  if (fullNameOf(contact).length > fullNameCharsMax) {
    const text = `First and last name together may have ${fullNameCharsMax} characters.`;
    problems.push(invalid(`${path}.last_name`, text));
  }
  return contact;
}

/** The fields that only some registries ask for; which of them is checked later (`checkForRegistry`). Empty ones are left out. */
function parseExtraFields(value: unknown, path: string, problems: ValidationError[]): ContactFieldValue[] {
  if (!Array.isArray(value)) {
    problems.push(invalid(path, "Give a list of objects with name and value."));
    return [];
  }
  const found = new Map<string, string>();
  for (const [index, entry] of value.entries()) {
    const { name, value: text } = (entry ?? {}) as Record<string, unknown>;
    if (typeof name !== "string" || !extraName.test(name)) {
      problems.push(invalid(`${path}.${index}.name`, "Give the name of a field that the registry of this name has."));
      continue;
    }
    if (found.has(name)) problems.push(invalid(`${path}.${name}`, "This field is given twice."));
    found.set(name, parseField(text, optionalLine, `${path}.${name}`, problems) ?? "");
  }
  // In one order, so that equal contacts are one.
  const names = [...found.keys()].sort();
  return names.flatMap((name) => (found.get(name) === "" ? [] : [{ name, value: found.get(name)! }]));
}

function parseField(
  value: unknown,
  { isRequired, charsMax, parse, says }: Field,
  field: string,
  problems: ValidationError[],
): string | undefined {
  const fail = (text: string) => {
    problems.push(invalid(field, text));
  };
  const given = value ?? "";
  if (typeof given !== "string") return fail("Give a string.") as undefined;
  const text = given.trim();
  if (text === "") {
    const error_text = "Required, because a contact that is sent must be complete.";
    if (isRequired) problems.push({ error_code: "missing", error_text, field });
    return undefined;
  }
  if (unprintable.test(text))
    return fail("This field has characters that cannot be printed: remove them.") as undefined;
  if (text.length > charsMax) return fail(`Give at most ${charsMax} characters.`) as undefined;
  const parsed = parse ? parse(text) : text;
  return parsed ?? (fail(says ?? "This field is not valid.") as undefined);
}

/** @throws ApiError `bad_request` when a registry does not take these contacts */
export function checkForRegistry(
  registry: RegistryProfile,
  contacts: GivenContacts,
  path: (role: ContactRole) => string = (role) => role,
): void {
  const problems: ValidationError[] = [];
  for (const role of contactRoles) {
    const contact = contacts[role];
    if (!contact) continue;
    if (!isRequiredRole(registry, role)) {
      const roles = contactRoles.filter((one) => isRequiredRole(registry, one)).join(", ");
      problems.push(invalid(path(role), `The registry of this name has these contacts: ${roles}.`));
      continue;
    }
    problems.push(...extraFieldProblems(registry, contact, path(role)));
    if (registry.contactLetters !== "ascii") continue;
    for (const name of fieldNames.filter((one) => !isAscii(contact[one] ?? ""))) {
      problems.push(invalid(`${path(role)}.${name}`, "The registry of this name takes only ASCII characters."));
    }
  }
  if (problems.length > 0) throw badBody(problems);
}

/** All texts of a contact. */
export const textsOf = ({ extra_fields = [], ...plain }: Contact): string[] => [
  ...Object.values(plain),
  ...extra_fields.map(({ value }) => value),
];

function extraFieldProblems(
  { contactFields, contactLetters }: RegistryProfile,
  { extra_fields: given = [] }: Contact,
  path: string,
): ValidationError[] {
  if (contactFields.length === 0) {
    const text = "The registry of this name takes no further fields: leave it out.";
    return given.length > 0 ? [invalid(`${path}.extra_fields`, text)] : [];
  }
  const names = contactFields.map(({ name }) => name).join(", ");
  const wrong = given.flatMap(({ name, value }) => {
    const field = contactFields.find((one) => one.name === name);
    const at = `${path}.extra_fields.${name}`;
    if (!field) return [invalid(at, `The registry of this name has these further fields: ${names}.`)];
    if (!fitsField(field, value)) return [invalid(at, "The registry of this name demands another form of this field.")];
    if (contactLetters === "any" || isAscii(value)) return [];
    return [invalid(at, "The registry of this name takes only ASCII characters.")];
  });
  const isGiven = (wanted: string) => given.some(({ name }) => name === wanted);
  const missing = requiredFields(contactFields).filter((name) => !isGiven(name));
  return [...wrong, ...missing.map((name) => missingField(`${path}.extra_fields.${name}`))];
}

const requiredFields = (fields: RegistryProfile["contactFields"]) =>
  fields.filter(({ required }) => required).map(({ name }) => name);

const missingField = (field: string): ValidationError => ({
  error_code: "missing",
  error_text: "The registry of this name demands this field of each contact.",
  field,
});

/**
 * The profile takes the place of contacts that a registration leaves out, and has none of a registry's own fields.
 * @throws ApiError `bad_request` when the registry demands one
 */
export function checkForProfile(
  registry: RegistryProfile,
  given: GivenContacts,
  path: (role: ContactRole) => string,
): void {
  const names = requiredFields(registry.contactFields);
  const absent = contactRoles.filter((role) => isRequiredRole(registry, role) && !given[role]);
  if (names.length === 0 || absent.length === 0) return;
  const error_text = `The registry of this name demands the field ${names.join(", ")} of each contact, which your account's profile does not have: give this contact with extra_fields.`;
  throw badBody(absent.map((role) => ({ error_code: "missing" as const, error_text, field: path(role) })));
}

export const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** A profile of one word only has no last name. */
export const fullNameOf = ({ first_name, last_name }: Contact): string =>
  [first_name, last_name].filter(Boolean).join(" ");

/** The columns of `reseller_profiles` that make a contact. */
export const profileColumns = {
  full_name: "text",
  organisation: "text?",
  email: "text",
  phone: "text",
  street: "text",
  city: "text",
  state_or_province: "text?",
  postal_code: "text",
  country_code: "text",
} as const;

/** A reseller's profile, as its row has it. */
export type ProfileRow = RowOf<typeof profileColumns>;

/** SQL: the same columns, in any statement's list. */
export const profileColumnNames = Object.keys(profileColumns).join(", ");

/** The same on the outer side of a join: all are null without a profile. */
export const joinedProfileColumns = Object.fromEntries(Object.keys(profileColumns).map((name) => [name, "text?"])) as {
  readonly [Name in keyof typeof profileColumns]: "text?";
};

/** @returns undefined when the join found no profile */
export const findProfile = (row: RowOf<typeof joinedProfileColumns>): ProfileRow | undefined =>
  row.full_name === null ? undefined : (row as ProfileRow);

/** The profile as a contact: it takes the place of contacts that are left out. */
export function contactOfProfile(profile: ProfileRow): Contact {
  const [first_name = "", ...more] = profile.full_name.split(" ");
  return {
    first_name,
    last_name: more.join(" "),
    ...(profile.organisation !== null && { company_name: profile.organisation }),
    email: profile.email,
    phone: profile.phone,
    address: profile.street,
    postal_code: profile.postal_code,
    city: profile.city,
    ...(profile.state_or_province !== null && { state: profile.state_or_province }),
    country_code: profile.country_code,
  };
}
