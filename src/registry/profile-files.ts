/** Reads the certificates and the key of a profile, and checks that they match before they are used. */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

interface PemFiles {
  id: string;
  caFile: string;
  certFile?: string;
  keyFile?: string;
}

/**
 * @param read returns the text of a file that the profile names
 * @throws Error that names id and field when a file cannot be read or has another content. Without a certificate in caFile,
 * TLS would trust all public authorities
 */
export function readPemFiles(files: PemFiles, read: (path: string) => string) {
  const readFor = (field: "caFile" | "certFile" | "keyFile", path: string) => {
    try {
      return read(path);
    } catch (error) {
      throw new Error(`${files.id}: ${field} cannot be read: ${(error as Error).message}`);
    }
  };
  const { id, caFile, certFile, keyFile } = files;
  const ca = readFor("caFile", caFile);
  if (!findCertificate(ca)) throw new Error(`${id}: caFile contains no certificate in PEM: ${caFile}`);
  if (certFile === undefined || keyFile === undefined) return { ca, cert: undefined, key: undefined };
  const cert = readFor("certFile", certFile);
  const certificate = findCertificate(cert);
  if (!certificate) throw new Error(`${id}: certFile contains no certificate in PEM: ${certFile}`);
  const key = readFor("keyFile", keyFile);
  const privateKey = findPrivateKey(key);
  if (!privateKey) throw new Error(`${id}: keyFile contains no private key in PEM without a passphrase: ${keyFile}`);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`${id}: the key in ${keyFile} does not belong to the first certificate in ${certFile}`);
  }
  return { ca, cert, key };
}

function findCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function findPrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** The parser's messages are not repeated: they quote text that may be a password. */
export function parseProfileFile(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${file}, the file of registry profiles, cannot be read: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is not JSON`);
  }
}
