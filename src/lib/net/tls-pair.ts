/** A certificate and its key, and the files in which they are renewed while a process runs. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";

/** PEM. */
export interface TlsPair {
  /** Followed by the certificates of the intermediate authorities. */
  certificate: string;
  key: string;
  /** The files that they were read from, if any. */
  files?: TlsFiles;
}

export interface TlsFiles {
  certificate: string;
  key: string;
}

/** The TLS options of a server with this pair. */
export function secureOptions({ certificate, key }: TlsPair): SecureContextOptions {
  // RFC 8996
  return { cert: certificate, key, minVersion: "TLSv1.2" };
}

/** @throws Error that says what is wrong with the files */
export function readTlsPair(files: TlsFiles): TlsPair {
  const pair = readFiles(files);
  checkTlsPair(pair);
  return pair;
}

function readFiles(files: TlsFiles): TlsPair {
  const read = (path: string) => readFileSync(path, "utf8").trim();
  return { certificate: read(files.certificate), key: read(files.key), files };
}

/** @throws Error when they cannot be parsed or do not match */
export function checkTlsPair(pair: TlsPair): void {
  const first = new X509Certificate(pair.certificate);
  // TLS would accept a key of another type as the key of a second certificate.
  if (!first.checkPrivateKey(createPrivateKey(pair.key))) throw new Error("the key is not that of the certificate");
  createSecureContext(secureOptions(pair));
}

export interface TlsFilesWatch {
  files: TlsFiles;
  /** The pair that is served now. */
  served: TlsPair;
  lookMs: number;
  /** Serves another pair to new connections. @throws Error when the pair must not be served */
  serve(pair: TlsPair): void;
  /** Reports what is wrong with the files; undefined when they are right again. Called when it changes. */
  report(mistake: string | undefined): void;
}

/**
 * Checks the files repeatedly and serves a new pair. It compares contents: tools renew files in different ways (a rename,
 * another target of a link, a write in place), and no date is reliable for all of them. When a new pair cannot be served, the
 * old one stays in use.
 * @returns stops watching
 */
export function watchTlsFiles({ files, served, lookMs, serve, report }: TlsFilesWatch): () => void {
  let last = served;
  let reported: string | undefined;
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
    // Between the renewal of one file and the other, the two do not match: only a mistake that persists is reported.
    const isOld = mistake === suspected;
    suspected = mistake;
    if (mistake === reported || (mistake !== undefined && !isOld)) return;
    reported = mistake;
    report(mistake);
  }, lookMs).unref();
  return () => clearInterval(timer);
}
