import { testRetries } from "./client-retries.ts";
import { php } from "./foreign-client.ts";

testRetries(php);
