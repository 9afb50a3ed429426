/** The pages of the site in the order of its sidebar, grouped by who reads them. llms.txt has the same list. */

export interface Entry {
  text: string;
  /** Its file without ".md", from the root of the site. */
  page: string;
}

export interface Section {
  text: string;
  /** The sidebar has its first page only, which lists the others. */
  isBrief?: boolean;
  entries: readonly Entry[];
}

export interface Audience {
  text: string;
  sections: readonly Section[];
}

const entries = (...pairs: [text: string, page: string][]): Entry[] => pairs.map(([text, page]) => ({ text, page }));

const forDevelopers: readonly Section[] = [
  {
    text: "Start",
    entries: entries(["Quick start", "start"], ["Concepts", "concepts"], ["Test your integration", "testing"]),
  },
  {
    text: "The API",
    entries: entries(
      ["Calls explained", "api"],
      ["v2", "api-v2"],
      ["Signatures", "signing"],
      ["Zones and records", "dns"],
      ["Orders, step by step", "states"],
      ["Events", "events"],
      ["Webhooks", "webhooks"],
      ["Errors", "errors"],
    ),
  },
];

const libraries: Section = {
  text: "Libraries and modules",
  entries: entries(
    ["TypeScript", "clients-typescript"],
    ["PHP", "clients-php"],
    ["Python", "clients-python"],
    ["WHMCS", "whmcs"],
    ["FOSSBilling", "fossbilling"],
    ["Assistants (MCP)", "mcp"],
  ),
};

/** @param printed the pages that are made from code @param has whether there is such a page; others are left out */
export function siteMap(
  printed: { reference: readonly Entry[]; decisions: readonly Entry[] },
  has: (page: string) => boolean,
): Audience[] {
  const audiences: Audience[] = [
    {
      text: "Resellers' developers",
      sections: [...forDevelopers, { text: "Reference", entries: printed.reference }, libraries],
    },
    {
      text: "Operators",
      sections: [
        {
          text: "Operator's guide",
          entries: entries(
            ["Deploy", "deploy"],
            ["Upgrade", "upgrade"],
            ["Operating", "operating"],
            ["High availability", "ha"],
            ["Runbook", "runbook"],
            ["Metrics", "metrics"],
            ["Registries", "registries"],
            ["Certification tests", "ote"],
            ["Hosting nodes", "hosting"],
            ["Security", "security"],
          ),
        },
      ],
    },
    {
      text: "Contributors",
      sections: [
        {
          text: "How it is built",
          entries: entries(["Architecture", "architecture"], ["Contributing", "contributing"]),
        },
        {
          text: "How it is tested",
          entries: entries(["Faults", "faults"], ["Attacks", "tested-attacks"], ["Attempts on hosting", "abuse-cases"]),
        },
        { text: "Decisions", isBrief: true, entries: printed.decisions },
      ],
    },
    { text: "Changelog", sections: [{ text: "Changelog", entries: entries(["Changelog", "changelog"]) }] },
  ];
  return audiences.map(({ text, sections }) => ({
    text,
    sections: sections.map((section) => ({ ...section, entries: section.entries.filter(({ page }) => has(page)) })),
  }));
}
