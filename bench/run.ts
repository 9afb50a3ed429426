/**
 * `npm run bench -- <name>` runs one benchmark; without a name it lists them. README.md in this folder has the results.
 */
const benchmarks: Record<string, { about: string; run: () => Promise<void> }> = {
  orders: {
    about: "a registration: 202 to the worker's first EPP byte, and 202 to Finished, on an idle system",
    run: async () => (await import("./orders.ts")).benchOrders(),
  },
  pipeline: {
    about: "orders per second through everything, beside the same bare EPP commands",
    run: async () => (await import("./pipeline.ts")).benchPipeline(),
  },
  replica: {
    about: "registrations per second through two apis, with a synchronous replica 2 ms away",
    run: async () => (await import("./replica.ts")).benchReplica(),
  },
  "domain-read": {
    about: "a signed GET /domains/<name> beside a bare node:http server that does one HMAC and one SELECT",
    run: async () => (await import("./domain-read.ts")).benchDomainRead(),
  },
  threads: {
    about: "signed reads: one thread beside the commit of DEEDHOUSE_TEST_BEFORE, two threads beside two bare processes",
    run: async () => (await import("./threads.ts")).benchThreads(),
  },
  nonces: {
    about:
      "signed reads with nonces and counts in the database, beside a journal; a lone one with a replica; the log of a million",
    run: async () => (await import("./nonces.ts")).benchNonces(),
  },
  "round-trips": {
    about: "round trips to the database that requests of several kinds take",
    run: async () => (await import("./round-trips.ts")).benchRoundTrips(),
  },
  traces: {
    about: "what the calls for traces cost a signed read while nobody records",
    run: async () => (await import("./traces.ts")).benchTraces(),
  },
  paging: {
    about: "pages anywhere in a portfolio of a million names, beside the first page",
    run: async () => (await import("./paging.ts")).benchPaging(),
  },
  hosting: {
    about:
      "hosting accounts: POST to Ready and to the first upload, accounts per second, channel and uploads (as root)",
    run: async () => (await import("./hosting.ts")).benchHosting(),
  },
  "hosting-channel": {
    about: "from a worker's change to its acknowledgement by a node's agent, at 5,000 and 50,000 accounts",
    run: async () => (await import("./hosting-channel.ts")).benchHostingChannel(),
  },
  "hosting-node": {
    about: "how long a change takes on a node of ProFTPD and nginx, at 5,000 and 50,000 accounts (as root)",
    run: async () => (await import("./hosting-node.ts")).benchHostingNode(),
  },
  "hosting-upload": {
    about: "uploads to the embedded node beside ProFTPD, large and small, in clear and over TLS (as root)",
    run: async () => (await import("./hosting-upload.ts")).benchHostingUpload(),
  },
};

const chosen = benchmarks[process.argv[2] ?? ""];
if (chosen) {
  await chosen.run();
} else {
  for (const [name, { about }] of Object.entries(benchmarks)) process.stdout.write(`${name.padEnd(15)}  ${about}\n`);
  process.exitCode = process.argv[2] === undefined ? 0 : 2;
}
