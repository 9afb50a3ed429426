/** A period in a command (RFC 5731 §2.5): 1 to 99 years or months. */

/** How a registry takes periods: in years, in months, or not at all, because each name has the same. */
export type PeriodForm = "years" | "months" | "none";

const monthsPerYear = 12;

/** The text and the unit of a period; undefined where the registry takes none. */
export function periodOf(years: number, form: PeriodForm = "years") {
  if (form === "none") return undefined;
  return form === "years"
    ? { text: String(years), attributes: { unit: "y" } }
    : { text: String(years * monthsPerYear), attributes: { unit: "m" } };
}
