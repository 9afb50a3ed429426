/** A certificate and its key, and the files that they are renewed in while a process runs. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";

/** PEM. */
export interface TlsPair {
  /** With those of the authorities between, behind it. */
  certificate: string;
  key: string;
  /** Where they were read, if they were. */
  files?: TlsFiles;
}

export interface TlsFiles {
  certificate: string;
  key: string;
}

/** How a server speaks TLS with them. */
export function secureOptions({ certificate, key }: TlsPair): SecureContextOptions {
  // RFC 8996
  return { cert: certificate, key, minVersion: "TLSv1.2" };
}

/** @throws Error that says what is wrong with them */
export function readTlsPair(files: TlsFiles): TlsPair {
  const pair = readFiles(files);
  checkTlsPair(pair);
  return pair;
}

function readFiles(files: TlsFiles): TlsPair {
  const read = (path: string) => readFileSync(path, "utf8").trim();
  return { certificate: read(files.certificate), key: read(files.key), files };
}

/** @throws Error when they cannot be read, or do not belong together */
export function checkTlsPair(pair: TlsPair): void {
  const first = new X509Certificate(pair.certificate);
  // TLS would take a key of another kind for that of a second certificate.
  if (!first.checkPrivateKey(createPrivateKey(pair.key))) throw new Error("the key is not that of the certificate");
  createSecureContext(secureOptions(pair));
}

export interface TlsFilesWatch {
  files: TlsFiles;
  /** What is served. */
  served: TlsPair;
  lookMs: number;
  /** Serves another pair to new connections. @throws Error when it must not be */
  serve(pair: TlsPair): void;
  /** What is wrong with the files; undefined when nothing is any more. Told when it changes. */
  tell(mistake: string | undefined): void;
}

/**
 * Looks at the files again and again and serves what is new in them. It compares contents: whatever way a tool renews them
 * (a rename, another target of a link, a write in place), no date is to be trusted for it. What cannot be served leaves in
 * use what was.
 * @returns ends it
 */
export function watchTlsFiles({ files, served, lookMs, serve, tell }: TlsFilesWatch): () => void {
  let last = served;
  let told: string | undefined;
  let suspected: string | undefined;

  function mistakeNow(): string | undefined {
    try {
      const pair = readFiles(files);
      if (pair.certificate === last.certificate && pair.key === last.key) return undefined;
      checkTlsPair(pair);
      serve(pair);
      last = pair;
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  const timer = setInterval(() => {
    const mistake = mistakeNow();
    // Between the renewal of one file and of the other they do not belong together: a mistake is what stays.
    const isOld = mistake === suspected;
    suspected = mistake;
    if (mistake === told || (mistake !== undefined && !isOld)) return;
    told = mistake;
    tell(mistake);
  }, lookMs).unref();
  return () => clearInterval(timer);
}
