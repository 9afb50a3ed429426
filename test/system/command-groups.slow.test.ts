import assert from "node:assert/strict";
import { test } from "node:test";
import { runTool } from "../harness/running-system.ts";

// No gateway runs: what a command says before it looks for one is enough.
const run = (...args: string[]) => runTool(args, { env: { PATH: process.env.PATH } });
const nowhere = ["--data", "/nonexistent"];

test("the help says which commands are a reseller's and which are the operator's", async () => {
  const { code, stdout } = await run("--help");
  assert.equal(code, 0);
  const [, resellers = "", operators = ""] = stdout.split(/^For .*:$/m);
  for (const group of ["whoami", "domains", "orders"]) assert.match(resellers, new RegExp(`^  ${group} `, "m"));
  for (const group of ["account", "operator", "registry"]) assert.match(operators, new RegExp(`^  ${group} `, "m"));
});

test("a group that both have is the reseller's, and the operator's after the word operator", async () => {
  for (const group of ["domains", "hosting", "orders", "packs"]) {
    const own = await run(group, "--help");
    assert.doesNotMatch(own.stdout, /\(operator\)/, group);
    const all = await run("operator", group, "--help");
    assert.match(all.stdout, new RegExp(`^Usage: deedhouse operator ${group} `));
    assert.match(all.stdout, /\(operator\)/, group);
  }
  const list = await run("orders", "list", "--help");
  assert.match(list.stdout, /--domain-name/);
});

test("an operator's command is found under its earlier words, which say what they are now", async () => {
  const code = "REG-7K3M9QX2-4TD";
  for (const words of [
    ["orders", "show", code],
    ["domains", "show", "a.example"],
    ["packs", "versions"],
    ["hosting", "accounts"],
  ]) {
    const { stderr } = await run(...words, ...nowhere);
    const named = words.slice(0, 2).join(" ");
    assert.match(
      stderr,
      new RegExp(`^deedhouse ${named} is now deedhouse operator ${named}\\.\ndeedhouse: no deedhouse is running`),
    );
    const now = await run("operator", ...words, ...nowhere);
    assert.match(now.stderr, /^deedhouse: no deedhouse is running/);
  }
});

test("the word operator may stand before every command of the operator's", async () => {
  const { stderr } = await run("operator", "account", "list", ...nowhere);
  assert.match(stderr, /^deedhouse: no deedhouse is running/);
  const unknown = await run("operator", "orders", "nothing");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /unknown command 'nothing'/);
});
