import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { findNameFacts } from "#domains/register/name-facts.ts";
import { priceShape } from "#domains/register/register.ts";
import { askAvailability, textOfObstacle } from "#domains/registry/availability.ts";
import { findTarget, type Target } from "#domains/registry/target.ts";
import { ApiError, invalidField, type ValidationError } from "#errors.ts";
import { type DomainName, InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { domainName } from "#use-case/docs.ts";
import type { Caller, UseCase } from "#use-case/use-case.ts";

const namesMax = 50;

const availabilityShape = Type.Object(
  {
    domain_name: domainName,
    availability: Type.Enum(["available", "taken", "blocked", "unknown"]),
    premium: Type.Optional(priceShape),
    reason: Type.Optional(Type.String({ description: "For people." })),
  },
  { title: "Availability" },
);

/** What a name's answer says beside the name. */
type Verdict = Omit<Static<typeof availabilityShape>, "domain_name">;

interface Question {
  name: DomainName;
  /** Undefined when nobody serves the suffix. */
  target: Target | undefined;
}

/** GET /domains/availability?names=a,b: whether names can be registered, in the order asked. */
export const checkNames: UseCase = {
  errors: ["bad_request"],
  scope: "domains:read",
  docs: {
    operation: "checkNames",
    summary: "Says whether names can be registered.",
    description: "Each name counts as a request.",
    query: Type.Object({
      names: Type.String({
        description: `1 to ${namesMax} names, separated by commas.`,
        examples: ["hello.example,b.example"],
      }),
    }),
    answers: { 200: { description: "In the order of the names.", body: Type.Array(availabilityShape) } },
  },

  async handle(context, request) {
    const questions = parseNames(context, request.query);
    // The request itself is counted already.
    await request.takeRequests(questions.length - 1);
    const asked = new Map<DomainName, Promise<Verdict>>();
    const answers = questions.map(async ({ name, target }): Promise<Static<typeof availabilityShape>> => {
      const verdict = asked.get(name) ?? findVerdict(context, request.caller, name, target);
      asked.set(name, verdict);
      return { domain_name: name, ...(await verdict) };
    });
    return { status: 200, body: await Promise.all(answers) };
  },
};

/** @throws ApiError `bad_request` that says which of the names are wrong */
function parseNames(context: Context, query: URLSearchParams): Question[] {
  const given = query.getAll("names");
  const texts = given[0]?.split(",") ?? [];
  if (given.length !== 1 || given[0] === "" || texts.length > namesMax) {
    throw invalidField("names", `Give 1 to ${namesMax} names once, separated by commas: names=a.example,b.example.`);
  }
  const mistakes: ValidationError[] = [];
  const questions = texts.flatMap((text, index) => {
    const question = parseName(context, text);
    if (typeof question !== "string") return [question];
    mistakes.push({ error_code: "invalid", error_text: `Name ${index + 1}: ${question}`, field: "names" });
    return [];
  });
  const [first] = mistakes;
  if (!first) return questions;
  throw new ApiError("bad_request", { text: `names: ${first.error_text}`, validationErrors: mistakes });
}

/** @returns a text that says what is wrong with the name */
function parseName(context: Context, text: string): Question | string {
  try {
    const name = parseDomainName(text);
    return { name, target: findTarget(context, name) };
  } catch (error) {
    if (error instanceof InvalidDomainName) return error.message;
    if (error instanceof ApiError && error.validationErrors?.[0]) return error.validationErrors[0].error_text;
    throw error;
  }
}

async function findVerdict(
  context: Context,
  caller: Caller,
  name: DomainName,
  target: Target | undefined,
): Promise<Verdict> {
  const { standing } = await findNameFacts(context, caller, name, target);
  switch (standing.kind) {
    case "not-served":
      return { availability: "blocked", reason: "This suffix is not on offer here." };
    case "blocked":
      return { availability: "blocked", reason: "This name is blocked here." };
    case "own-order":
      return { availability: "taken", reason: "You have ordered this name." };
    case "own":
      return { availability: "taken", reason: "You registered this name." };
    case "taken":
      // The same bytes as for a name that the registry calls taken.
      return { availability: "taken" };
    case "maintained":
      return { availability: "unknown", reason: "The registry of this suffix is being maintained; ask again later." };
    case "down":
      return { availability: "unknown", reason: "The registry of this suffix is unavailable; ask again later." };
    case "paused":
    case "limit-reached":
    case "unowned":
    case "unknown":
      return target ? askRegistry(context, target.registry.id, name) : { availability: "unknown" };
  }
}

async function askRegistry(context: Context, registryId: string, name: DomainName): Promise<Verdict> {
  const { availability, fee, obstacle } = await askAvailability(context, registryId, name, { purpose: "bulk-check" });
  if (availability === "unknown") {
    return { availability, reason: "The registry did not answer in time; ask again later, or for fewer names." };
  }
  if (availability === "refused") {
    if (obstacle) return { availability: "blocked", reason: textOfObstacle(obstacle) };
    return { availability: "blocked", reason: "The registry does not offer this name (reserved, blocked or premium)." };
  }
  return { availability, ...(fee && { premium: fee }) };
}
