import type { Client, components } from "agent-service-client";
import { useMayDecide, useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { type PagedQuery, usePages } from "../ui/paged-list.js";

export type Turn = components["schemas"]["Turn"];
type ToolCall = components["schemas"]["ToolCall"];

export const waitsForStaff = ({ needs, approver }: ToolCall): boolean => needs === "approval" && approver === "staff";

/** The list of turns with calls that wait for staff. */
export const waitingTurns = (service: Client, filter = "{}"): PagedQuery<Turn> => ({
  queryKey: ["approvals", filter],
  load: (page) => service.turns.list({ ...page, ...JSON.parse(filter), waitingFor: "staff" }),
});

/** The number of calls that wait for staff, for those who may decide. */
export const WaitingCount = () => {
  const canRead = useScope("conversations:read");
  const mayDecide = useMayDecide();
  const { data, hasNextPage } = usePages(waitingTurns(useSession().service), canRead && mayDecide);
  const turns = data?.pages.flatMap((page) => page.data) ?? [];
  const calls = turns.flatMap(({ toolCalls }) => toolCalls.filter(waitsForStaff));
  if (calls.length === 0) return null;
  return (
    <Badge tone="warn">
      {calls.length}
      {hasNextPage && "+"}
      <span className="visually-hidden"> waiting</span>
    </Badge>
  );
};
