/** For tests: a stand-in server with one password, which logins can change. It may lose the answer before or after the change. */
import type { TestContext } from "node:test";
import type { StandIn, StandInAnswer, StandInCertificate } from "#registry/epp/test-stand-in-server.ts";
import { createCertificate, responseXml, startStandIn } from "#registry/epp/test-stand-in-server.ts";

export type Loss = "none" | "before" | "after" | "failure";

export interface PasswordServer {
  readonly standIn: StandIn;
  readonly certificate: StandInCertificate;
  /** The valid password. */
  password: string;
  /** Whether the answer to a login with a new password is lost before or after the change, or is a failure after it. */
  loss: Loss;
  /** The result code of that failure. */
  failureCode: number;
  /** The result code with which such a login is refused. */
  refusal: number | undefined;
  /** The answer to logins without a new password. */
  plainAnswer: StandInAnswer | undefined;
  /** The passwords of all logins, in order. */
  readonly tried: string[];
}

/** Closed when the test ends. */
export async function startPasswordServer(context: TestContext, password: string): Promise<PasswordServer> {
  const certificate = await createCertificate();
  const standIn = await startStandIn({ certificate });
  context.after(() => standIn.close());
  const server: PasswordServer = {
    standIn,
    certificate,
    password,
    loss: "none",
    failureCode: 2400,
    refusal: undefined,
    plainAnswer: undefined,
    tried: [],
  };
  standIn.script = ({ name, clTRID, xml }) => {
    if (name !== "login") return undefined;
    const given = textOf(xml, "pw");
    const wanted = textOf(xml, "newPW");
    server.tried.push(given ?? "");
    if (wanted === undefined && server.plainAnswer) return server.plainAnswer;
    if (given !== server.password) return { xml: responseXml(2200, clTRID) };
    if (wanted === undefined) return undefined;
    if (server.refusal !== undefined) return { xml: responseXml(server.refusal, clTRID) };
    if (server.loss === "before") return "close";
    server.password = wanted;
    if (server.loss === "failure") return { xml: responseXml(server.failureCode, clTRID) };
    return server.loss === "after" ? "close" : undefined;
  };
  return server;
}

function textOf(xml: string, element: string): string | undefined {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
}
