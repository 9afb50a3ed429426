import { testFaults } from "./client-faults.ts";
import { typescript } from "./foreign-client.ts";

testFaults(typescript);
