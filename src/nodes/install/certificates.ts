/** Steps for the node's certificates: self-signed until the operator provides others. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Clock } from "#lib/clock.ts";
import { endsSoon, makeCertificate } from "#nodes/certificate.ts";
import { type FileStep, fileStep, replaceFile } from "#nodes/install/files.ts";
import { type Machine, readText } from "#nodes/install/machine.ts";
import type { Step } from "#nodes/install/plan.ts";

export interface CertificateStep extends Omit<FileStep, "content" | "isSecret"> {
  /** The host name of the certificate, known once the server has joined. */
  host: () => Promise<string>;
  /** The operator's own file, key and chain, to copy to `path`. */
  given?: string;
}

/**
 * Ensures that there is a certificate that does not expire soon. A certificate that an authority has signed is left alone:
 * its owner renews it.
 */
export function certificateStep(machine: Machine, { host, given, ...file }: CertificateStep, clock: Clock): Step {
  if (given !== undefined) {
    return fileStep(machine, { ...file, content: () => readCertificate(given), isSecret: true });
  }
  const accessStep = fileStep(machine, {
    ...file,
    content: async () => (await readText(machine, file.path)) ?? "",
    isSecret: true,
  });
  return {
    async look() {
      const found = await readText(machine, file.path);
      if (found !== undefined && !(isSelfSigned(found) && endsSoon(found, clock))) return accessStep.look();
      const name = await host();
      return {
        summary: `${found === undefined ? "create" : "renew"} the self-signed certificate ${file.path} for ${name}`,
        async apply() {
          await replaceFile(machine, file, await makeCertificate(name, [], clock));
        },
      };
    },
  };
}

function isSelfSigned(pem: string): boolean {
  const certificate = new X509Certificate(pem);
  return certificate.issuer === certificate.subject;
}

/** @throws Error that says what is wrong with the file */
async function readCertificate(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  try {
    if (new X509Certificate(text).checkPrivateKey(createPrivateKey(text))) return text;
  } catch {
    throw new Error(`${file} must hold a private key and its certificate with the chain, in PEM`);
  }
  throw new Error(
    `${file}: the private key does not match the first certificate; put the certificate before its chain`,
  );
}
