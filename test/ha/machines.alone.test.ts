/** A machine of the database's cluster fails, or hands the primary's role over. */
import { type Fault, testFaults } from "./play.ts";

const faults: Fault[] = [
  {
    name: "the primary's machine is killed",
    async cause({ cluster }) {
      const machine = await cluster.primary();
      await cluster.run("kill", machine);
      return () => cluster.run("boot", machine);
    },
  },
  {
    name: "a planned switchover",
    async cause({ cluster }) {
      await cluster.run("switchover");
      return async () => {};
    },
  },
];

testFaults("the database's cluster loses its primary, and no acknowledged registration", faults);
