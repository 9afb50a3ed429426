import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { generate } from "selfsigned";
import type { Clock } from "#lib/clock.ts";
import { ignoreMissing, writeFileAtomic } from "../atomic-file.ts";

const dayMs = 86_400_000;
const validDays = 825;
/** A certificate that ends sooner than this is replaced at start. */
const renewDays = 30;

export interface Certificate {
  /** PEM, private key and certificate. */
  keyAndCertificate: string;
  /** PEM, the certificate alone: what a client pins. */
  certificate: string;
}

/** The node's self-signed certificate for FTP over TLS: read from `ftp-tls.pem` in `folder`, or made and kept there. */
export async function loadCertificate(folder: string, host: string, clock: Clock): Promise<Certificate> {
  const path = join(folder, "ftp-tls.pem");
  const kept = await readFile(path, "utf8").catch(ignoreMissing);
  const now = clock.now().getTime();
  if (kept !== undefined && new X509Certificate(kept).validToDate.getTime() > now + renewDays * dayMs) {
    return split(kept);
  }
  const made = await generate([{ name: "commonName", value: host }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notBeforeDate: new Date(now - dayMs),
    notAfterDate: new Date(now + validDays * dayMs),
    extensions: [
      {
        name: "subjectAltName",
        altNames: [{ type: 2, value: "localhost" }, isIP(host) ? { type: 7, ip: host } : { type: 2, value: host }],
      },
    ],
  });
  const text = `${made.private.trim()}\n${made.cert.trim()}\n`;
  await writeFileAtomic(path, text);
  return split(text);
}

function split(keyAndCertificate: string): Certificate {
  const begin = keyAndCertificate.indexOf("-----BEGIN CERTIFICATE-----");
  return { keyAndCertificate, certificate: keyAndCertificate.slice(begin) };
}
