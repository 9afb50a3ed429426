/** Compose and Kubernetes, as far as they can be read without an engine: their settings, secrets and rights are ours. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import Schema from "typebox/schema";
import { parse, parseAllDocuments } from "yaml";
import { repository } from "../../tools/package/stage.ts";
import { closed } from "../harness/closed-schema.ts";
import { startOwnServer } from "../harness/standby.ts";
import composeSchema from "./schemas/compose-spec.json" with { type: "json" };
import kubernetes from "./schemas/kubernetes.json" with { type: "json" };

const sources = (await readdir(join(repository, "src"))).filter((name) => /^config(-[a-z]+)?\.ts$/.test(name));
const settings = (await Promise.all(sources.map((name) => readFile(join(repository, "src", name), "utf8")))).join();
/** A file can be the setting itself, or contain its value. */
const isSetting = (name: string) =>
  [name, name.replace(/_FILE$/, "")].some((setting) => settings.includes(`"${setting}"`));
const roles = ["api", "worker", "migrate"];
const kinds = ["StatefulSet", "Deployment", "Job"];
const stopSeconds = 40;

interface Service {
  image: string;
  command?: string[];
  environment: Record<string, string>;
  secrets: ({ source: string } | string)[];
  volumes?: string[];
  read_only?: boolean;
  stop_grace_period?: string;
}
interface Compose {
  services: Record<string, Service>;
  secrets: Record<string, unknown>;
  volumes: Record<string, unknown>;
}

test("compose.yaml gives api and worker settings that there are, secrets that it has, and no writable root", async () => {
  const text = await readFile(join(repository, "ops/compose.yaml"), "utf8");
  const { services, secrets, volumes } = parse(text, { merge: true }) as Compose;
  const ours = Object.entries(services).filter(([, { image }]) => image === "deedhouse");
  assert.deepEqual(
    ours.map(([name]) => name),
    ["migrate", "api-1", "api-2", "worker-1", "worker-2"],
  );
  for (const [name, service] of ours) {
    const unknown = Object.keys(service.environment).filter((setting) => !isSetting(setting));
    assert.deepEqual(unknown, [], name);
    assert.ok(roles.includes(service.command?.[0] ?? "api"), name);
    assert.ok(service.read_only, name);
    assert.equal(service.stop_grace_period, `${stopSeconds}s`, name);
    for (const secret of service.secrets) {
      assert.ok((typeof secret === "string" ? secret : secret.source) in secrets, `${name}: ${JSON.stringify(secret)}`);
    }
  }
  for (const name of ["api-1", "api-2"]) {
    assert.equal(services[name]!.environment.DEEDHOUSE_NONCES, "database", "two apis never serve with journals");
    assert.ok(services[name]!.volumes![0]!.split(":")[0]! in volumes);
  }
});

type Validator = ReturnType<typeof Schema.Compile>;

/** What a schema does not allow there. */
function mistakesIn(validator: Validator, value: unknown): string[] {
  if (validator.Check(value)) return [];
  const [, errors] = validator.Errors(value);
  return errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

test("compose.yaml has the form of the Compose specification", async () => {
  const validator = Schema.Compile(composeSchema as object);
  const compose = parse(await readFile(join(repository, "ops/compose.yaml"), "utf8"), { merge: true }) as Compose;
  assert.deepEqual(mistakesIn(validator, compose), []);
  for (const [field, value] of Object.entries({ comand: ["worker"], restart: ["no"], depends_on: "postgres" })) {
    const wrong = structuredClone(compose);
    Object.assign(wrong.services["worker-1"]!, { [field]: value });
    assert.match(mistakesIn(validator, wrong).join("\n"), new RegExp(`/services/worker-1/${field} `));
  }
});

/** The settings of a pod, as the file for kustomize has them. */
async function kubernetesSettings(): Promise<Record<string, string>> {
  const { configMapGenerator } = parse(await readFile(join(repository, "ops/kubernetes/kustomization.yaml"), "utf8"));
  return Object.fromEntries(configMapGenerator[0].literals.map((literal: string) => literal.split("=")));
}

test("the settings of Compose and of Kubernetes are all that production demands", async (t) => {
  const { url } = await startOwnServer(t, { fsync: "on" });
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-settings-"));
  t.after(() => rm(folder, { recursive: true }));
  const secrets = {
    "database-url": url,
    "master.key": `1:${randomBytes(32).toString("hex")}`,
    "registries.json": "[]",
  };
  for (const [name, text] of Object.entries(secrets)) await writeFile(join(folder, name), text, { mode: 0o600 });
  const compose = parse(await readFile(join(repository, "ops/compose.yaml"), "utf8"), { merge: true }) as Compose;
  for (const environment of [compose.services["api-1"]!.environment, await kubernetesSettings()]) {
    const env: Record<string, string> = { PATH: process.env.PATH!, DEEDHOUSE_REPLAY_DIR: folder };
    for (const [name, value] of Object.entries(environment)) {
      const file = Object.keys(secrets).find((secret) => secret.slice(0, 6) === basename(value).slice(0, 6));
      const isOfReader = value.startsWith(`\${${name}:?`);
      env[name] = name.endsWith("_FILE") ? join(folder, file!) : isOfReader ? "sites.reseller.example" : value;
    }
    for (const command of ["migrate", "check-config"]) {
      const { status, stderr } = spawnSync(process.execPath, [join(repository, "bin/deedhouse.ts"), command], { env });
      assert.equal(status, 0, `${command}: ${stderr}`);
    }
  }
});

interface Workload {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    selector?: { matchLabels: Record<string, string> };
    template: {
      metadata?: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds: number;
        securityContext: { runAsNonRoot: boolean };
        volumes: { secret?: { secretName: string; defaultMode: number } }[];
        containers: {
          args: string[];
          envFrom: { configMapRef: { name: string } }[];
          securityContext: { readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean };
        }[];
      };
    };
  };
}

const noKubectl =
  spawnSync("kubectl", ["version", "--client"]).error !== undefined && "kubernetes-client is not installed";

/** What `kubectl kustomize` makes of our manifests and some secrets. */
async function rendered(): Promise<Workload[]> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-kubernetes-"));
  try {
    await cp(join(repository, "ops/kubernetes"), folder, { recursive: true });
    await cp(join(repository, "ops/debian"), join(folder, "secrets"), { recursive: true });
    for (const name of ["database-url", "master.key"]) await writeFile(join(folder, "secrets", name), "secret");
    const { stdout } = await promisify(execFile)("kubectl", ["kustomize", folder]);
    return parseAllDocuments(stdout).map((document) => document.toJS() as Workload);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("the manifests render, and each pod has our settings and secrets, time to stop and no rights", {
  skip: noKubectl,
}, async () => {
  const objects = await rendered();
  const nameOf = (kind: string) => objects.find((object) => object.kind === kind)!.metadata.name;
  const unknown = Object.keys(objects.find(({ kind }) => kind === "ConfigMap")!.data!).filter(
    (name) => !isSetting(name),
  );
  assert.deepEqual(unknown, []);
  const workloads = objects.filter(({ kind }) => kinds.includes(kind));
  assert.equal(workloads.length, kinds.length);
  for (const { metadata, spec } of workloads) {
    const pod = spec.template.spec;
    assert.equal(pod.terminationGracePeriodSeconds, stopSeconds, metadata.name);
    assert.ok(pod.securityContext.runAsNonRoot, metadata.name);
    const secrets = pod.volumes.flatMap(({ secret }) => (secret ? [secret] : []));
    assert.deepEqual(secrets, [{ secretName: nameOf("Secret"), defaultMode: 0o440 }], metadata.name);
    const [container] = pod.containers;
    assert.ok(roles.includes(container!.args[0]!), metadata.name);
    assert.equal(container!.envFrom[0]!.configMapRef.name, nameOf("ConfigMap"));
    assert.ok(
      container!.securityContext.readOnlyRootFilesystem && !container!.securityContext.allowPrivilegeEscalation,
    );
  }
  for (const budget of objects.filter(({ kind }) => kind === "PodDisruptionBudget")) {
    const { app } = budget.spec.selector!.matchLabels;
    assert.ok(
      workloads.some(({ spec }) => spec.template.metadata?.labels.app === app),
      `${budget.metadata.name} protects no pod`,
    );
  }
});

/** A number or a text, which OpenAPI 2 has no words for; and a field that Kubernetes does not know is a mistake. */
const definitions = closed({
  ...kubernetes.definitions,
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { type: ["string", "integer"] },
});
function schemaOf({ apiVersion, kind }: Workload): Validator {
  const version = apiVersion.includes("/") ? apiVersion.replace("/", ".") : `core.${apiVersion}`;
  return Schema.Compile({ definitions, $ref: `#/definitions/io.k8s.api.${version}.${kind}` });
}

test("each rendered object has the form that the API of Kubernetes describes", { skip: noKubectl }, async () => {
  const objects = await rendered();
  for (const object of objects) assert.deepEqual(mistakesIn(schemaOf(object), object), [], object.metadata.name);
  for (const object of objects.filter(({ kind }) => kinds.includes(kind))) {
    const validator = schemaOf(object);
    const [container] = object.spec.template.spec.containers;
    Object.assign(container!, { readinesProbe: {}, args: "api" });
    assert.match(mistakesIn(validator, object).join("\n"), /containers\/0\/args must be array/);
    assert.match(mistakesIn(validator, object).join("\n"), /containers\/0\/readinesProbe /);
  }
});
