import type { Command } from "commander";
import { guarded } from "../../client/cli/failures.ts";
import { printJson } from "../../client/cli/output.ts";

export function addOpenApiCommand(program: Command): void {
  program
    .command("openapi")
    .description("print the description of the API as OpenAPI 3.1, as GET /openapi.json serves it (operator)")
    .addHelpText("after", "\nExample:\n  deedhouse openapi > openapi.json")
    .action(
      guarded(async () => {
        const { apiDocument } = await import("#api/open-routes.ts");
        printJson(apiDocument());
      }),
    );
}
