/** A machine of the database's cluster freezes, and comes back. */
import assert from "node:assert/strict";
import { testFaults } from "./play.ts";

testFaults("the database's cluster loses its primary for a while, and no acknowledged registration", [
  {
    name: "the primary's machine freezes, and comes back when another one is the primary",
    async cause({ cluster }) {
      const machine = await cluster.primary();
      await cluster.run("freeze", machine);
      return async () => {
        const successor = await cluster.primary();
        await cluster.run("thaw", machine);
        await cluster.run("wait");
        assert.equal(await cluster.primary(), successor, "it must not take over again");
      };
    },
  },
]);
