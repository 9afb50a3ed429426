import { InvalidArgumentError } from "commander";

/** An option's value as a whole number within limits. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^[0-9]{1,15}$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
  };
}
