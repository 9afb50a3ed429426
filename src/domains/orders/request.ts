import {
  ChangeConflict,
  type ChangeContext,
  type ChangeRow,
  type ChangeTable,
  type Outcome,
} from "#domains/orders/change.ts";
import { stateOf } from "#domains/orders/state-table.ts";
import { write } from "#domains/orders/write.ts";
import { OperatorError } from "#operator-error.ts";

/**
 * Writes an operator's request on a live row, whose next step carries it out. Starts again if the row was written meanwhile.
 * @throws OperatorError when the row has ended
 */
export async function requestOf<Row extends ChangeRow, O extends Outcome>(
  context: ChangeContext,
  table: ChangeTable<Row, O>,
  get: () => Promise<Row>,
  request: (row: Row) => Promise<O> | O,
): Promise<Row> {
  for (;;) {
    const row = await get();
    if (table.states.isFinal(stateOf(row))) {
      throw new OperatorError("refused", `the order has ended already, as ${row.status}: nothing can change it`);
    }
    try {
      return (await write(context, table, row, await request(row))).row;
    } catch (error) {
      if (!(error instanceof ChangeConflict)) throw error;
    }
  }
}
