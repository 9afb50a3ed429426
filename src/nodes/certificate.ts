import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import type { Clock } from "#lib/clock.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";

const dayMs = 86_400_000;
const validDays = 825;
/** A certificate that expires sooner than this is replaced. */
const renewDays = 30;

export interface Certificate {
  /** PEM, private key and certificate. */
  keyAndCertificate: string;
  /** PEM, the certificate alone, which a client can pin. */
  certificate: string;
}

/** Loads the node's self-signed certificate for FTP over TLS from `ftp-tls.pem` in `folder`, or creates it there. */
export async function loadCertificate(folder: string, host: string, clock: Clock): Promise<Certificate> {
  const path = join(folder, "ftp-tls.pem");
  const kept = await readFile(path, "utf8").catch(ignoreMissing);
  if (kept !== undefined && !endsSoon(kept, clock)) return split(kept);
  const text = await makeCertificate(host, ["localhost"], clock);
  await writeFileAtomic(path, text);
  return split(text);
}

/** @param pem a file that contains a certificate @throws Error when it contains none */
export function endsSoon(pem: string, clock: Clock): boolean {
  return new X509Certificate(pem).validToDate.getTime() <= clock.now().getTime() + renewDays * dayMs;
}

/**
 * Creates a self-signed certificate.
 * @param host a name or an IP address; a prefix of `*.` makes it valid for all names below
 * @returns PEM, private key and certificate
 */
export async function makeCertificate(host: string, otherNames: readonly string[], clock: Clock): Promise<string> {
  // Loading it takes longer than making the certificate, and most starts find theirs.
  const { generate } = await import("selfsigned");
  const now = clock.now().getTime();
  const made = await generate([{ name: "commonName", value: host }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notBeforeDate: new Date(now - dayMs),
    notAfterDate: new Date(now + validDays * dayMs),
    extensions: [
      {
        name: "subjectAltName",
        altNames: [
          ...otherNames.map((name) => ({ type: 2 as const, value: name })),
          isIP(host) ? { type: 7, ip: host } : { type: 2, value: host },
        ],
      },
    ],
  });
  return `${made.private.trim()}\n${made.cert.trim()}\n`;
}

function split(keyAndCertificate: string): Certificate {
  const begin = keyAndCertificate.indexOf("-----BEGIN CERTIFICATE-----");
  return { keyAndCertificate, certificate: keyAndCertificate.slice(begin) };
}
