import type { Settings } from "./settings.ts";

/**
 * The answer without what the schemas require and some registries leave out: the registrar of a name (RFC 5731 §3.1.2), and the dates
 * and the answering registrar of a transfer (§3.1.3).
 */
export function leaveOut(
  answer: string,
  { infoShowsRegistrar, transferShows }: Pick<Settings, "infoShowsRegistrar" | "transferShows">,
  registrar: string | undefined,
): string {
  let sent = answer;
  if (infoShowsRegistrar !== "all") {
    sent = sent.replace(/<domain:infData .*?<\/domain:infData>/gs, (infData) =>
      infData.replace(/<domain:clID>(.*?)<\/domain:clID>/, (element, sponsor: string) =>
        infoShowsRegistrar === "sponsor" && sponsor === registrar ? element : "",
      ),
    );
  }
  if (transferShows === "status") {
    sent = sent.replace(/<domain:trnData .*?<\/domain:trnData>/gs, (trnData) =>
      trnData.replace(/<domain:(reDate|acID|acDate)>.*?<\/domain:\1>/g, ""),
    );
  }
  return sent;
}
