import { testRetries } from "./client-retries.ts";
import { python } from "./foreign-client.ts";

testRetries(python);
