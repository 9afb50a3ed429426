/** What a folder may import of ours: `from` and `allowed` are beginnings of paths from the repository's root. */
export interface ImportRule {
  from: string;
  /** Besides the folder itself. */
  allowed: string[];
  /** Besides those and test/harness/. */
  allowedInTests: string[];
  why: string;
}

const settings = ["src/config.ts", "src/role.ts"];

/** What lies in src/nodes/ beside its folders, and what nodes with accounts' files on disks of their own have alike. */
const everyNode = [
  ...["src/lib/", "src/config.ts", "src/role.ts", "src/nodes/account-json.ts", "src/nodes/agent-node.ts"],
  ...[
    "src/nodes/answer-body.ts",
    "src/nodes/atomic-file.ts",
    "src/nodes/certificate.ts",
    "src/nodes/driver.ts",
    "src/nodes/probe.ts",
  ],
  "src/nodes/homes/",
];

/** The first rule whose `from` fits a file counts. */
export const importRules: ImportRule[] = [
  {
    from: "client/sdk/",
    allowed: [],
    allowedInTests: ["client/testing/"],
    why: "the library runs at the customer's, without us",
  },
  { from: "client/", allowed: [], allowedInTests: [], why: "the client runs at the customer's, without us" },
  { from: "sandbox/", allowed: [], allowedInTests: [], why: "a test double that shares code shares mistakes" },
  { from: "src/lib/", allowed: [], allowedInTests: [], why: "lib/ holds small things that know nothing of the rest" },
  {
    from: "src/registry/",
    allowed: ["src/lib/"],
    allowedInTests: [],
    why: "the EPP client knows no database and no use case",
  },
  {
    from: "src/ote/",
    allowed: ["src/lib/", "src/registry/"],
    allowedInTests: [],
    why: "a certification walk has an EPP client and a registry's profile, and no gateway",
  },
  {
    from: "src/postgres/",
    allowed: ["src/lib/"],
    allowedInTests: ["src/db/"],
    why: "it runs a database server, whoever uses it",
  },
  {
    from: "src/db/",
    allowed: ["src/lib/"],
    allowedInTests: [],
    why: "the database layer knows no use case",
  },
  {
    from: "src/use-case/",
    allowed: ["src/lib/", "src/db/", "src/context.ts", "src/errors.ts"],
    allowedInTests: [],
    why: "what use cases share knows none of them, and nobody who serves them",
  },
  {
    from: "src/front/",
    allowed: ["src/lib/", "src/db/", "src/alarms.ts", "src/context.ts"],
    allowedInTests: [],
    why: "what stands before a server knows nothing of what is served",
  },
  {
    from: "src/locks/",
    allowed: ["src/lib/", "src/db/", "src/context.ts"],
    allowedInTests: [],
    why: "locks know nothing of what is done under them",
  },
  {
    from: "src/queue/",
    allowed: ["src/lib/", "src/db/", "src/locks/"],
    allowedInTests: [],
    why: "the queue knows no job: what enqueues one would import whoever does it",
  },
  {
    from: "src/progress/",
    allowed: ["src/lib/", "src/db/", "src/locks/", "src/context.ts"],
    allowedInTests: [],
    why: "the engine knows no machine: whoever has one gives it to the engine",
  },
  ...["src/nodes/embedded/", "src/nodes/proftpd-nginx/", "src/nodes/cpanel/"].map((from) => ({
    from,
    allowed: everyNode,
    allowedInTests: ["bin/", "src/nodes/test-"],
    why: "no kind of hosting node knows another one",
  })),
  {
    from: "src/nodes/",
    allowed: ["src/lib/", "src/config.ts", "src/role.ts"],
    allowedInTests: ["bin/"],
    why: "a hosting node may run on another machine and knows no database",
  },
  {
    from: "src/cli.ts",
    allowed: ["src/operator/", "src/start/", "client/cli/", "package.json"],
    allowedInTests: [],
    why: "it only puts the commands together",
  },
  {
    from: "src/operator/",
    allowed: [
      ...["src/lib/", "src/db/", "src/registry/", "src/ote/", "src/nodes/", "src/use-case/", "src/resellers/"],
      ...["src/domains/", "src/hosting/", "src/jobs/", "src/watch/"],
      ...["src/alarms.ts", "src/config.ts", "src/operator-error.ts", "client/cli/"],
    ],
    allowedInTests: [],
    why: "the operator's commands are one tool with the client's, and load no server",
  },
  {
    from: "src/start/",
    allowed: [
      ...["src/lib/", "src/db/", "src/postgres/", "src/resellers/", "src/hosting/nodes/", "src/hosting/packs/"],
      "src/config.ts",
    ],
    allowedInTests: [],
    why: "it starts the other programs as processes, it does not load them",
  },
  {
    from: "src/resellers/",
    allowed: ["src/lib/", "src/db/", "src/use-case/", "src/context.ts", "src/operator-error.ts"],
    allowedInTests: [],
    why: "whose a name or an account is does not depend on what it is",
  },
  {
    from: "src/watch/",
    allowed: ["src/lib/", "src/db/", "src/locks/", "src/alarms.ts", "src/context.ts"],
    allowedInTests: [],
    why: "it looks at whether others are at work, not into their work",
  },
  {
    from: "src/domains/",
    allowed: [
      ...[
        "src/lib/",
        "src/db/",
        "src/locks/",
        "src/progress/",
        "src/queue/",
        "src/registry/",
        "src/resellers/",
        "src/use-case/",
      ],
      ...["src/alarms.ts", "src/context.ts", "src/errors.ts", "src/operator-error.ts"],
    ],
    allowedInTests: ["src/jobs/"],
    why: "domain names know no hosting, and nobody who serves or runs them",
  },
  {
    from: "src/hosting/",
    allowed: [
      ...[
        "src/lib/",
        "src/db/",
        "src/front/",
        "src/locks/",
        "src/nodes/",
        "src/progress/",
        "src/queue/",
        "src/resellers/",
        "src/use-case/",
      ],
      ...["src/alarms.ts", "src/context.ts", "src/errors.ts", "src/operator-error.ts"],
    ],
    allowedInTests: ["src/api/", ...settings],
    why: "hosting knows no domain names, and nobody who serves or runs it",
  },
  {
    from: "src/api/",
    allowed: [
      ...["src/lib/", "src/db/", "src/front/", "src/use-case/", "src/resellers/", "src/domains/", "src/hosting/"],
      ...["src/watch/", "src/alarms.ts", "src/build-context.ts", "src/context.ts", "src/errors.ts", ...settings],
    ],
    allowedInTests: [],
    why: "a request changes nothing outside the database: it knows no queue, no registry and no node",
  },
  {
    from: "src/jobs/",
    allowed: [
      ...[
        "src/lib/",
        "src/db/",
        "src/locks/",
        "src/progress/",
        "src/queue/",
        "src/registry/",
        "src/domains/",
        "src/hosting/",
      ],
      ...["src/watch/", "src/alarms.ts", "src/build-context.ts", "src/context.ts", ...settings],
    ],
    allowedInTests: [],
    why: "the worker answers nobody",
  },
  ...[
    ...["src/alarms.", "src/build-context.ts", "src/context.ts", "src/errors.ts", "src/operator-error.ts"],
    ...settings,
  ].map((from) => ({
    from,
    allowed: ["src/lib/", "src/db/", "src/registry/registries.ts", "src/config.ts", "src/context.ts"],
    allowedInTests: [],
    why: "what every part imports imports no part",
  })),
  {
    from: "bin/",
    allowed: ["src/", "sandbox/registry/main.ts"],
    allowedInTests: [],
    why: "the entry point only chooses a role",
  },
];
