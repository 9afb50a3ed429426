// A process that works on the table of test-stage.ts until it is killed. It records each step's begin and end as a row of `steps`.
import { sleep } from "#lib/clock.ts";
import { openStage } from "#progress/test-stage.ts";
import { runSql } from "../../test/harness/sql.ts";

const { url, stepMs, rowsMax } = JSON.parse(process.argv[2] ?? "") as { url: string; stepMs: number; rowsMax: number };
const stage = openStage(url);
stage.start(
  async (id) => {
    const began = "INSERT INTO steps (id, pid) VALUES ($1, $2) RETURNING began_at::text AS at";
    const [line] = await runSql<{ at: string }>(url, began, [id, process.pid]);
    await sleep(stepMs);
    const ended = "UPDATE steps SET ended_at = clock_timestamp() WHERE id = $1 AND began_at = $2::timestamptz";
    await runSql(url, ended, [id, line?.at]);
    const reach = `UPDATE things SET reached = reached + 1, next_step_at = CASE WHEN reached + 1 < wanted THEN next_step_at END
    WHERE id = $1`;
    await runSql(url, reach, [id]);
  },
  { rowsMax },
);
process.stdout.write("working\n");
