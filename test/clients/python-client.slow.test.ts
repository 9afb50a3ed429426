import { testExports } from "./client-exports.ts";
import { testFaults } from "./client-faults.ts";
import { testTour } from "./client-tour.ts";
import { python } from "./foreign-client.ts";

testTour(python);
testFaults(python);
await testExports(python);
