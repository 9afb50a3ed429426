import Type, { type Static } from "typebox";
import { instant, textLike } from "#use-case/docs.ts";

/** The transfer of a name that another registrar has asked for, as it is stored in `domains.transfer` and as resellers see it. */
export const transferShape = Type.Object(
  {
    status: Type.String({ description: "A trStatus of RFC 5731 §3.1.3.", examples: ["pending"] }),
    requested_at: instant,
    gaining_registrar: textLike("other-registrar"),
    answer_by: Type.Optional(
      Type.String({ ...instant, description: "When the registry decides by itself. Absent: it does not say." }),
    ),
  },
  { title: "Transfer", description: "Another registrar asks for the name." },
);
export type TransferRecord = Static<typeof transferShape>;

/** The transfer in a row's column. */
export const transferOf = (column: unknown): TransferRecord | undefined =>
  (column as TransferRecord | null) ?? undefined;

/** RFC 5731 §3.1.3: the name has, or should have, moved. */
export const isApproved = ({ status }: Pick<TransferRecord, "status">): boolean =>
  status === "clientApproved" || status === "serverApproved";

/** What resellers see: only a transfer that is not decided. */
export function presentTransfer(column: unknown): TransferRecord | undefined {
  const transfer = transferOf(column);
  if (transfer?.status !== "pending") return undefined;
  const { status, requested_at, gaining_registrar, answer_by } = transfer;
  return { status, requested_at, gaining_registrar, ...(answer_by !== undefined && { answer_by }) };
}
