import Type from "typebox";
import Value from "typebox/value";
import { statement } from "#db/statement.ts";
import { schemaAt, wordsFor } from "#lib/schema-words.ts";
import { OperatorError } from "#operator-error.ts";
import type { OperatorContext } from "#resellers/create.ts";

/** Field sizes follow RFC 5733's schema, so that a registry can take every accepted profile. */
const profileShape = Type.Object({
  fullName: Type.String({ minLength: 1, maxLength: 255 }),
  organisation: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  email: Type.String({ pattern: "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$", maxLength: 254 }),
  /** As RFC 5733 §2.5 writes it: +49.30123456. */
  phone: Type.String({ pattern: "^\\+[0-9]{1,3}\\.[0-9]{1,14}$" }),
  street: Type.String({ minLength: 1, maxLength: 255 }),
  city: Type.String({ minLength: 1, maxLength: 255 }),
  stateOrProvince: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  postalCode: Type.String({ minLength: 1, maxLength: 16 }),
  countryCode: Type.String({ pattern: "^[A-Z]{2}$" }),
});

/** Of the fields whose form is more than their length. */
const forms: Readonly<Record<string, string>> = {
  email: "an e-mail address",
  phone: "a number such as +49.30123456",
  countryCode: "two capital letters such as BE",
};

const writeProfile = statement(
  "profile-write",
  `INSERT INTO reseller_profiles (reseller_id, full_name, organisation, email, phone, street, city, state_or_province,
     postal_code, country_code, updated_at)
   VALUES ($reseller_id, $full_name, $organisation, $email, $phone, $street, $city, $state_or_province, $postal_code,
     $country_code, $now)
   ON CONFLICT (reseller_id) DO UPDATE SET full_name = excluded.full_name, organisation = excluded.organisation,
     email = excluded.email, phone = excluded.phone, street = excluded.street, city = excluded.city,
     state_or_province = excluded.state_or_province, postal_code = excluded.postal_code,
     country_code = excluded.country_code, updated_at = excluded.updated_at`,
  {},
);

/**
 * Sets the registrant for a reseller's new names. Names that are already registered keep their registrant.
 * @throws OperatorError that lists every missing or invalid field
 */
export async function setProfile(context: OperatorContext, resellerId: number, profile: unknown): Promise<void> {
  if (!Value.Check(profileShape, profile)) {
    throw new OperatorError("refused", `the profile is not valid: ${describeProblems(profile).join("; ")}`);
  }
  await context.database.query(writeProfile, {
    reseller_id: resellerId,
    full_name: profile.fullName,
    organisation: profile.organisation ?? null,
    email: profile.email,
    phone: profile.phone,
    street: profile.street,
    city: profile.city,
    state_or_province: profile.stateOrProvince ?? null,
    postal_code: profile.postalCode,
    country_code: profile.countryCode,
    now: context.clock.now(),
  });
}

/** @returns a sentence for each field that is missing or wrong. It has no value of the profile */
function describeProblems(profile: unknown): string[] {
  const problems = Value.Errors(profileShape, profile).flatMap((error) => {
    if (error.keyword === "required") {
      return (error.params as { requiredProperties: string[] }).requiredProperties.map(
        (field) => `${field} is missing`,
      );
    }
    const field = error.instancePath.slice(1);
    if (field === "") return ["it must be an object"];
    return [`${field} must be ${forms[field] ?? wordsFor(schemaAt(profileShape, [field]))}`];
  });
  return [...new Set(problems)];
}
