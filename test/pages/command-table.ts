/** What the commands of the documentation need, beyond a running system, and which of them no test can run. */

const haCluster = "needs the cluster's packages; test/ha/machines.alone.test.ts runs the script";

const emptyDebian = "needs an empty Debian 12; npm run test:deploy runs it word for word in one";

/** They are not run here. Each has the reason, and where something runs what it does. */
export const elsewhere: Readonly<Record<string, string>> = {
  "npm ci && npm start": "installs this folder again; .ci/run runs npm ci, and this test runs what npm start runs",
  "npm ci && npm test": "installs this folder again and runs this test; .ci/run runs both",
  "dig @127.0.0.1 -p 7453 www.hello.example":
    "needs dig, and the ports of npm start; test/zones/running.test.ts asks the same",
  "apt-get install -y git npm": "needs root; test/install/run.ts makes an empty Debian a node",
  "git clone <this repository> /opt/deedhouse && cd /opt/deedhouse && npm ci --omit=dev":
    "needs root and the repository",
  "ln -s /opt/deedhouse/bin/deedhouse /usr/local/bin/deedhouse": "needs root",
  "deedhouse ready /run/deedhouse-api --wait 60": "needs a service of systemd; test/system/ready.test.ts runs it",
  "chgrp www-data /etc/deedhouse/certificates/.www.hello.example.new": "needs root, and Debian's group of web servers",
  "deedhouse node install --token-file token.txt --host-name ftp7.example.net --dry-run":
    "needs an empty Debian; test/install/run.ts runs it in one",
  "deedhouse node install --token-file token.txt --host-name ftp7.example.net":
    "needs an empty Debian; test/install/run.ts runs it in one",
  "npm run package:deb": "builds for a minute; test/package/deb.slow.test.ts does the same",
  "npm run package": "builds for a minute; test/package/tarball.slow.test.ts does the same",
  "apt-get install -y postgresql ./deedhouse_0.1.0_amd64.deb": emptyDebian,
  "runuser -u postgres -- createuser deedhouse": emptyDebian,
  "runuser -u postgres -- createdb --owner deedhouse --encoding UTF8 --template template0 deedhouse": emptyDebian,
  "sed -i 's/^#DATABASE_URL=/DATABASE_URL=/' /etc/deedhouse/deedhouse.env": emptyDebian,
  'as_service() { runuser -u deedhouse -- sh -ac \'. /etc/deedhouse/deedhouse.env; exec "$@"\' sh "$@"; }': emptyDebian,
  "as_service deedhouse migrate": emptyDebian,
  "systemctl enable --now deedhouse.target": emptyDebian,
  "as_service deedhouse account create first": emptyDebian,
  "as_service deedhouse key create --account first": emptyDebian,
  "apt-get install -y ./deedhouse_0.2.0_amd64.deb": emptyDebian,
  "npm install --global --ignore-scripts ./deedhouse-0.1.0.tgz":
    "needs the package; test/package/tarball.slow.test.ts runs the same",
  "apt-get install -y etcd-server patroni postgresql-15 haproxy": "needs root; .ci/run installs them",
  "bash ops/ha/cluster.sh start /var/tmp/ha": haCluster,
  "bash ops/ha/cluster.sh show /var/tmp/ha": haCluster,
  "bash ops/ha/cluster.sh kill /var/tmp/ha db1": haCluster,
  "bash ops/ha/cluster.sh boot /var/tmp/ha db1": haCluster,
  "bash ops/ha/cluster.sh switchover /var/tmp/ha": haCluster,
  "bash ops/ha/cluster.sh stop /var/tmp/ha": haCluster,
  "docker build --file ops/Dockerfile --tag deedhouse build": "needs an engine of containers",
  "cd ops && mkdir --mode 700 secrets": "writes into the repository",
  'echo "1:$(openssl rand -hex 32)" > secrets/master.key': "writes into the repository",
  "openssl rand -hex 24 > secrets/database-password": "writes into the repository",
  "password=$(cat secrets/database-password)": "writes into the repository",
  'echo "postgres://deedhouse:$password@postgres/deedhouse" > secrets/database-url': "writes into the repository",
  "echo '[]' > secrets/registries.json": "writes into the repository",
  "chgrp 7400 secrets/* && chmod 640 secrets/*": "needs root",
  "docker compose up --detach": "needs an engine of containers",
  "docker compose exec worker-1 deedhouse account create first": "needs an engine of containers",
  "docker compose exec worker-1 deedhouse key create --account first": "needs an engine of containers",
};

/** They ask before they do something; here nobody is at the terminal, so they get --yes. */
export const confirmed: readonly string[] = [
  "deedhouse operator domains adopt found.example --account acme",
  "deedhouse ote nic --registries ote.json --out certification",
];

/** What they read from standard input. */
export const input: Readonly<Record<string, string>> = {
  "deedhouse node set panel-1 --panel-token-file -": "TOKEN7QK2M9X4RHD8",
};

interface Lasting {
  /** What shows, in the shell, that it works. $LOG is its standard error, $OUT its output. */
  works: string;
  /** After SIGTERM. */
  exits: number;
}

/** They run until they are stopped. */
export const untilStopped: Readonly<Record<string, Lasting>> = {
  "deedhouse api": { works: 'grep -q "the API is listening" "$LOG"', exits: 0 },
  "deedhouse worker": { works: 'grep -q "the worker is working" "$LOG"', exits: 0 },
  "DEEDHOUSE_NODE_DATA_DIR=/srv/small DEEDHOUSE_NODE_HOST=192.0.2.7 DEEDHOUSE_NODE_TOKEN_FILE=small.token deedhouse node":
    { works: "deedhouse node list | grep -Eq '^small +embedded +open '", exits: 0 },
  "deedhouse events follow --types 'hosting.*' --since 2h --json": {
    works: 'grep -q hosting.ready "$OUT"',
    exits: 143,
  },
};

/** Pages with a test of their own, and the number of blocks whose commands that test runs. */
export const ownTests: Readonly<Record<string, { path: string; blocks: number }>> = {
  "docs/clients-php.md": { path: "test/clients/php-page.slow.test.ts", blocks: 1 },
  "docs/clients-python.md": { path: "test/clients/python-page.slow.test.ts", blocks: 1 },
  "docs/clients-typescript.md": { path: "test/clients/typescript-package.slow.test.ts", blocks: 2 },
  "docs/fossbilling.md": { path: "test/integrations/panel.ts", blocks: 1 },
  "docs/whmcs.md": { path: "test/integrations/panel.ts", blocks: 1 },
  "docs/mcp.md": { path: "mcp/page.test.ts", blocks: 3 },
};

interface Answer {
  exits: number;
  says: RegExp;
  /** The test that runs it where it succeeds. */
  success: string;
}

const notInDoubt: Answer = {
  exits: 3,
  says: /only a renew whose result the registry cannot show can be settled/,
  success: "test/renewals/own-dates.slow.test.ts",
};
const noSuchOrder: Answer = {
  exits: 4,
  says: /there is no order with this code/,
  success: "test/orders/settle.slow.test.ts",
};

/** They need what this system does not have: an order in doubt, a second node. What they say without it. */
export const refused: Readonly<Record<string, Answer>> = {
  "deedhouse operator hosting move hello.example --to web-8 --wait": {
    exits: 3,
    says: /cannot be moved to web-8: there is no such node/,
    success: "test/hosting/nodes.slow.test.ts",
  },
  "deedhouse operator orders settle REG-7K3M9QX2-4TD --as registered --note 'entered by the registry, ticket 4711'":
    noSuchOrder,
  "deedhouse operator orders settle REG-7K3M9QX2-4TD --as failed --note 'removed by the registry, ticket 4711'":
    noSuchOrder,
  "deedhouse operator domains adopt found.example --account acme": {
    exits: 3,
    says: /the registry does not hold the name/,
    success: "test/reconcile/reconcile.slow.test.ts",
  },
  "deedhouse alarms test": {
    exits: 3,
    says: /no process is set up to send messages about alarms/,
    success: "test/alarm-messages/killed.test.ts",
  },
  "deedhouse renewals settle hello.example --renewed --note 'on the invoice of May'": notInDoubt,
  "deedhouse renewals settle hello.example --not-renewed --note 'by telephone'": notInDoubt,
};
