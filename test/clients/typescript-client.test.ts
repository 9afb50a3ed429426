import { testRetries } from "./client-retries.ts";
import { typescript } from "./foreign-client.ts";

testRetries(typescript);
