import { X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { addMonths, systemNow } from "./clock.ts";

export interface ServerCertificate {
  cert: string;
  key: string;
  /** The CA that signed the certificate; a client pins it. */
  caFile: string;
}

const validMonths = 120;
const keyOptions = { keyType: "ec", curve: "P-256", algorithm: "sha256" } as const;

/**
 * Reads the certificate of `tlsDir`, or creates one there for localhost and 127.0.0.1 with a new CA. The CA's key is not
 * stored, so it can never sign anything else.
 */
export async function loadCertificate(tlsDir: string): Promise<ServerCertificate> {
  const caFile = join(tlsDir, "ca.pem");
  const certFile = join(tlsDir, "server.pem");
  const keyFile = join(tlsDir, "server-key.pem");
  const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(readIfThere));
  // The machine's time, not the registry's `now`: the client's TLS stack uses it too.
  if (ca && cert && key && new X509Certificate(cert).validToDate > systemNow()) return { cert, key, caFile };
  const made = await makeCertificate();
  await mkdir(tlsDir, { recursive: true });
  await writeWhole(keyFile, made.key, 0o600);
  await writeWhole(certFile, made.cert, 0o644);
  // Last, so that a CA file implies the other two.
  await writeWhole(caFile, made.ca, 0o644);
  return { cert: made.cert, key: made.key, caFile };
}

/**
 * Reads the client certificate of `tlsDir`, or creates one there. It is self-signed, so it is also the CA that the
 * registry verifies it with.
 */
export async function loadClientCertificate(
  tlsDir: string,
): Promise<{ clientCertFile: string; clientKeyFile: string }> {
  const files = { clientCertFile: join(tlsDir, "client.pem"), clientKeyFile: join(tlsDir, "client-key.pem") };
  const [cert, key] = await Promise.all([files.clientCertFile, files.clientKeyFile].map(readIfThere));
  if (cert && key && new X509Certificate(cert).validToDate > systemNow()) return files;
  const { generate } = await import("selfsigned");
  const made = await generate([{ name: "commonName", value: "Deedhouse sandbox registrar" }], {
    ...keyOptions,
    notAfterDate: addMonths(systemNow(), validMonths),
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", clientAuth: true },
    ],
  });
  await writeWhole(files.clientKeyFile, made.private, 0o600);
  await writeWhole(files.clientCertFile, made.cert, 0o644);
  return files;
}

async function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function writeWhole(file: string, text: string, mode: number): Promise<void> {
  await writeFile(`${file}.new`, text, { mode });
  await rename(`${file}.new`, file);
}

async function makeCertificate(): Promise<{ ca: string; cert: string; key: string }> {
  // Loading the library takes longer than creating the certificates, and most starts find theirs.
  const { generate } = await import("selfsigned");
  const notAfterDate = addMonths(systemNow(), validMonths);
  const ca = await generate([{ name: "commonName", value: "Deedhouse sandbox registry CA" }], {
    ...keyOptions,
    notAfterDate,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: "commonName", value: "localhost" }], {
    ...keyOptions,
    notAfterDate,
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          { type: 2, value: "localhost" },
          { type: 7, ip: "127.0.0.1" },
        ],
      },
    ],
  });
  return { ca: ca.cert, cert: server.cert, key: server.private };
}
