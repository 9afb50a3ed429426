import { greeting, response } from "./answer.ts";
import { isCommand, type ParsedFrame, readFrame } from "./command.ts";
import { refuseByFamily } from "./commands/family-rules.ts";
import { setAside } from "./commands/set-aside.ts";
import { requireSubProduct } from "./commands/sub-product.ts";
import { extensionUses, handlers, isTransform, verbs } from "./dispatch.ts";
import type { JournalEntry } from "./journal.ts";
import { askedFor, type CommandEffect, type Delivery, dropBefore, noEffect, normalDelivery } from "./labels.ts";
import { domainUri, eppUri, extensionNameOf } from "./namespaces.ts";
import { redactXml } from "./redact.ts";
import { activeEffect, type Outcome, type Registry, type SessionState } from "./registry.ts";
import { isClosingCode, Refusal } from "./result-codes.ts";
import { findSchemaFault } from "./schema.ts";
import { extensionUrisOf, objectUrisOf } from "./services.ts";
import { applySessionFaults } from "./session-faults.ts";
import type { Settings } from "./settings.ts";
import { parseXml, XmlRefusedError } from "./xml.ts";

/** A frame's answer, for the session. */
export interface Processed {
  /** For the entry of the answer in the journal. */
  about: Pick<JournalEntry, "clTRID" | "svTRID" | "command" | "name" | "code">;
  /** The answer's XML; absent if the frame was dropped. */
  answer?: string;
  delivery: Delivery;
  /** Whether the connection ends after the answer. */
  closes: boolean;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A frame as it arrived. */
export interface IncomingFrame {
  text?: string;
  frame?: ParsedFrame;
  /** Why no client could have it executed. */
  refusal?: Refusal;
}

/** Reads and checks one frame. Changes nothing. */
export function readIncoming(body: Buffer, settings: Settings): IncomingFrame {
  const incoming: IncomingFrame = {};
  try {
    incoming.text = decode(body);
    incoming.frame = readFrame(parseXml(incoming.text));
    refuseForeign(incoming.frame, settings);
    refuseUnreadable(incoming.frame, findSchemaFault(incoming.text));
  } catch (error) {
    incoming.refusal = asRefusal(error);
  }
  return incoming;
}

/**
 * Executes one frame: runs its handler, and records it in the journal together with its changes. Synchronous, so commands of
 * different sessions never interleave.
 */
export function processFrame(registry: Registry, session: SessionState, incoming: IncomingFrame): Processed {
  const { text, frame, refusal } = incoming;
  registry.schedule.runDue();
  const svTRID = `SBX-${registry.store.nextNumber()}`;
  let effect = noEffect;
  let outcome: Outcome;
  let reason: string | undefined;
  try {
    if (registry.faults.maintenanceAnswer(registry.now()) === "reset") return drop(registry, session, incoming, svTRID);
    if (!frame || refusal) throw refusal;
    applySessionFaults(registry, session, frame);
    effect = effectFor(registry, session, frame);
    if (effect.delivery?.drops === "before") {
      if (effect.once) registry.store.firedLabels.put({ key: frame.name! });
      return drop(registry, session, incoming, svTRID);
    }
    if (frame.kind === "hello") {
      record(registry, session, frame, text, { executed: false });
      return {
        about: { command: frame.label },
        answer: greeting(registry.now(), registry.settings),
        delivery: normalDelivery,
        closes: false,
      };
    }
    outcome = execute(registry, session, frame, effect, svTRID);
  } catch (error) {
    const { code, reason: why } = asRefusal(error);
    outcome = { code };
    reason = why;
  }
  const { code } = outcome;
  const executed = frame !== undefined && isTransform(frame) && (code === 1000 || code === 1001);
  if (effect.once && frame?.name && (executed || code === effect.refusalCode)) {
    registry.store.firedLabels.put({ key: frame.name });
  }
  record(registry, session, frame, text, { svTRID, code, executed });
  const object = frame?.element && frame.name ? { uri: frame.element.uri, name: frame.name } : undefined;
  return {
    about: { clTRID: frame?.clTRID, svTRID, command: frame?.label, name: frame?.name, code },
    answer: response({ ...outcome, reason, object, clTRID: frame?.clTRID, svTRID }),
    delivery: {
      ...(outcome.instead !== undefined && { instead: outcome.instead }),
      ...(effect.once && !executed ? normalDelivery : (effect.delivery ?? normalDelivery)),
    },
    closes: isClosingCode(code),
  };
}

/** Records a frame that was read and is never executed, because its connection is lost. */
export function drop(
  registry: Registry,
  session: SessionState,
  { frame, text }: IncomingFrame,
  svTRID?: string,
): Processed {
  record(registry, session, frame, text, { svTRID, executed: false });
  return { about: {}, delivery: dropBefore, closes: true };
}

/** The refusal for an error that a frame can cause. Rethrows other errors, which are defects. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof XmlRefusedError) return new Refusal(2001, error.message);
  if (error instanceof Refusal) return error;
  throw error;
}

function decode(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new Refusal(2001, "the frame is not UTF-8");
  }
}

/** Refuses what is not served here by its own code, which the schemas know nothing about (RFC 5730 §3). */
function refuseForeign({ verb, element, extensions }: ParsedFrame, settings: Settings): void {
  if (verb !== undefined && !verbs.has(verb)) throw new Refusal(2000, `<${verb}>`);
  const extension = extensions.find(({ uri }) => !extensionUrisOf(settings).includes(uri));
  if (extension) throw new Refusal(2103, extension.uri);
  const isObject = element !== undefined && element.uri !== eppUri && element.uri !== "";
  if (isObject && !objectUrisOf(settings).includes(element.uri)) throw new Refusal(2307, element.uri);
}

function refuseUnreadable(frame: ParsedFrame, fault: string | undefined): void {
  if (fault !== undefined) throw new Refusal(2001, fault);
  if (frame.kind !== "command" && frame.kind !== "hello") throw new Refusal(2001, `<${frame.kind}> is not a command`);
}

/** The effect of a fault on this command, or of the label: only for domains, and for a registrar that is logged in. */
function effectFor(registry: Registry, session: SessionState, frame: ParsedFrame): CommandEffect {
  const faulty = registry.faults.takeCommandEffect(frame, registry.settings);
  if (faulty) return faulty;
  if (!session.registrar || frame.element?.uri !== domainUri || frame.name === undefined) return noEffect;
  const effect = activeEffect(registry, frame.name) ?? noEffect;
  if (labelledVerbOf(frame) === (effect.verb ?? "create")) return effect;
  return frame.verb === "check" && effect.alsoOnCheck && effect.delivery ? { delivery: effect.delivery } : noEffect;
}

/** The handlers of a name's create and transfer leave it pending themselves. */
function staysPendingByItself({ label }: ParsedFrame): boolean {
  return label === "domain:create" || label === "domain:transfer";
}

/** The verb of the labels that concern the command: a restore has its own, and a transfer only in an answer to it. */
function labelledVerbOf({ verb, operation }: ParsedFrame): string | undefined {
  if (isCommand({ operation }, "domain:restore")) return "restore";
  if (verb === "transfer" && /-(request|query)$/.test(operation)) return undefined;
  return verb;
}

function execute(
  registry: Registry,
  session: SessionState,
  frame: ParsedFrame,
  effect: CommandEffect,
  svTRID: string,
): Outcome {
  const { verb, op, element, extensions, clTRID } = frame;
  if (!session.registrar && verb !== "login") throw new Refusal(session.forgottenCode ?? 2002, "not logged in");
  if (session.registrar && verb === "login") throw new Refusal(2002, "already logged in");
  refuseExtensions(session, frame);
  if (!element) throw new Error(`a valid <${verb}> without content`);
  if (element.uri !== eppUri) {
    if (element.local !== verb) throw new Refusal(2001, `<${verb}> contains <${element.local}>`);
    if (!session.services.has(element.uri)) throw new Refusal(2002, `the login did not request ${element.uri}`);
  }
  requireSubProduct(registry.settings, frame);
  refuseByFamily(registry.settings.family, frame);
  // The handler of a name's create refuses by itself, after all other checks.
  if (effect.refusalCode !== undefined && frame.label !== "domain:create") {
    throw new Refusal(effect.refusalCode, askedFor);
  }
  const handler = handlers.get(`${element.uri} ${element.local}`);
  if (!handler) throw new Refusal(2101, `${element.local} is not supported for this object`);
  const registrar = session.registrar ?? "";
  const context = { registry, session, registrar, element, op, extensions, clTRID, svTRID, effect };
  const isSetAside = effect.scheduled !== undefined && !staysPendingByItself(frame);
  return isSetAside ? setAside(context, handler) : handler(context);
}

/** The login's handler checks its own extensions, because only it knows what the login requests. */
function refuseExtensions(session: SessionState, { verb, label, extensions }: ParsedFrame): void {
  if (verb === "login") return;
  if (new Set(extensions.map(({ uri }) => uri)).size < extensions.length)
    throw new Refusal(2002, "an extension is repeated");
  for (const { uri, local } of extensions) {
    if (!session.services.has(uri)) throw new Refusal(2002, `the login did not request ${uri}`);
    if (!extensionUses.get(`${uri} ${local}`)?.includes(label)) {
      throw new Refusal(2002, `${extensionNameOf(uri)}:${local} does not extend ${label}`);
    }
  }
}

function record(
  registry: Registry,
  session: SessionState,
  frame: ParsedFrame | undefined,
  text: string | undefined,
  result: Pick<JournalEntry, "svTRID" | "code" | "executed">,
): void {
  registry.store.journal.record({
    number: registry.store.nextNumber(),
    at: registry.now().toISOString(),
    connection: session.connection,
    registrar: session.registrar,
    direction: "in",
    clTRID: frame?.clTRID,
    command: frame?.label,
    name: frame?.name,
    ...result,
    // Text that is not well-formed may contain a password anywhere.
    xml: frame && text !== undefined ? redactXml(text) : undefined,
  });
}
