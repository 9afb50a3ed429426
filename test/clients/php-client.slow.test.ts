import { testExports } from "./client-exports.ts";
import { testFaults } from "./client-faults.ts";
import { testTour } from "./client-tour.ts";
import { php } from "./foreign-client.ts";

testTour(php);
testFaults(php);
await testExports(php);
