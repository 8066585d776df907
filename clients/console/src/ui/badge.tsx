import type { ReactNode } from "react";

export type Tone = "neutral" | "accent" | "ok" | "warn" | "danger";

export const Badge = ({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge ${tone}`}>{children}</span>
);

const TONES: Record<string, Tone> = {
  completed: "ok",
  failed: "danger",
  cancelled: "warn",
  queued: "neutral",
  in_progress: "accent",
  requires_action: "warn",
};

/** The state of a conversation with a turn that has not ended. */
export const OpenBadge = ({ status }: { status: string }) =>
  status === "requires_action" ? <Badge tone="warn">waits for an answer</Badge> : <Badge tone="accent">replying</Badge>;

/** The status of a turn or a message. */
export const StatusBadge = ({ status }: { status: string }) => <Badge tone={TONES[status] ?? "neutral"}>{status.replace("_", " ")}</Badge>;
