/** Programs that do not close their clients, or do, with every warning of Python as an error. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { repository } from "../harness/running-system.ts";
import { python } from "./foreign-client.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const { key } = await gateway.addReseller();

const open = `from deedhouse import Client
def make():
    return Client(${JSON.stringify(gateway.url)}, ${JSON.stringify(key.id)}, ${JSON.stringify(key.secret.reveal())})
`;
const programs = {
  "a client in a global variable": "client = make()\nclient.get_account()\n",
  "a client that is forgotten": "make().get_account()\nmake().get_account()\n",
  "a context manager": "with make() as client:\n    client.get_account()\n",
  "a client that is closed": "client = make()\nclient.get_account()\nclient.close()\n",
  "threads that share a client": `import threading
client = make()
threads = [threading.Thread(target=client.get_account) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
`,
  "a list that is left in the middle": "client = make()\nparts = client.export_domains()\nnext(parts)\n",
  "an error": "from deedhouse import ApiError\ntry:\n    make().get_domain('nobodys.example')\nexcept ApiError: pass\n",
};

for (const [name, program] of Object.entries(programs)) {
  test(`Python reports no open socket: ${name}`, { skip: python.skip }, async () => {
    const env = { PATH: process.env.PATH, PYTHONPATH: join(repository, "client/python"), PYTHONDONTWRITEBYTECODE: "1" };
    const child = spawn("python3", ["-X", "dev", "-W", "error", "-c", open + program], { env });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "", stderr: "" });
  });
}
