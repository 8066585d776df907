import { useQueryClient } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useState } from "react";
import type { Decide } from "../chat/tool-call.js";
import { useMayDecide, useSession } from "../session/session.js";
import { notify } from "../ui/toast.js";
import { isOver } from "./decision-error.js";

type Decision = Pick<components["schemas"]["ActionItem"], "decision" | "reason">;

/** Returns how staff decides about the calls of a turn, for those who may, and why the newest decision could not be stored. */
export const useDecide = (turnId: string, isDisabled: boolean, onDecided: () => void): { decide: Decide | undefined; error: unknown } => {
  const { service } = useSession();
  const queries = useQueryClient();
  const mayDecide = useMayDecide();
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async (callId: string, decision: Decision, done: string) => {
    setIsBusy(true);
    setError(undefined);
    try {
      await service.turns.answer(turnId, { actions: [{ callId, ...decision }] });
      notify(done);
      onDecided();
    } catch (caught) {
      setError(caught);
      if (isOver(caught)) onDecided();
    }
    await Promise.all(["approvals", "conversation"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
    setIsBusy(false);
  };
  if (!mayDecide) return { decide: undefined, error };
  const decide: Decide = {
    approver: "staff",
    isDisabled: isBusy || isDisabled,
    approve: (callId) => send(callId, { decision: "approve" }, "Approved."),
    deny: (callId, reason) => send(callId, { decision: "deny", ...(reason && { reason }) }, "Denied."),
  };
  return { decide, error };
};
