import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Json } from "../form/json-pointer.js";
import { useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/dialog.js";
import { QueryState } from "../ui/query-state.js";
import { type Agent, changedMembers, type Draft, draftOf, isSame, MEMBERS, withMembers } from "./agent.js";

type Choice = "merge" | "mine" | "theirs";

interface ConflictProps {
  /** The version that was edited. */
  base: Agent;
  mine: Draft;
  onResolve: (draft: Draft, current: Agent) => void;
  onClose: () => void;
}

/** Returns the members that one side or both have changed. */
const compare = (base: Draft, mine: Draft, theirs: Draft) => {
  const changes = { mine: changedMembers(base, mine), theirs: changedMembers(base, theirs) };
  const both = changes.mine.filter((member) => changes.theirs.includes(member) && !isSame(mine[member], theirs[member]));
  return { ...changes, both };
};

const shown = (value: Json | undefined): string =>
  typeof value === "string" ? value : value === undefined ? "(none)" : JSON.stringify(value, null, 2);

const label = (member: string): string => MEMBERS[member] ?? member;

/** Lets the user choose between both versions of an agent, or merge them. */
export const Conflict = ({ base, mine, onResolve, onClose }: ConflictProps) => {
  const { service } = useSession();
  const current = useQuery({ queryKey: ["agent", base.id, "conflict"], queryFn: () => service.agents.get(base.id), gcTime: 0 });
  const [choice, setChoice] = useState<Choice>("merge");
  const [kept, setKept] = useState<Record<string, "mine" | "theirs">>({});
  const theirs = current.data === undefined ? undefined : draftOf(current.data);
  const changes = theirs === undefined ? undefined : compare(draftOf(base), mine, theirs);

  const resolve = () => {
    if (current.data === undefined || theirs === undefined || changes === undefined) return;
    const own = changes.mine.filter((member) => !changes.both.includes(member) || (kept[member] ?? "mine") === "mine");
    onResolve({ merge: withMembers(theirs, own, mine), mine, theirs }[choice], current.data);
  };

  const options: [Choice, string, string][] = [
    ["merge", "Merge both", "Keeps the changes of both; you choose where both changed the same."],
    ["mine", "Keep mine", "Overwrites the other changes."],
    ["theirs", "Keep theirs", "Discards your changes."],
  ];
  return (
    <Modal title="Somebody else has changed this agent" onClose={onClose}>
      <QueryState query={current} />
      {changes !== undefined && theirs !== undefined && (
        <div className="stack">
          <p>
            You edited version {base.version}; version {current.data?.version} has other changes:{" "}
            {changes.theirs.map(label).join(", ") || "none that you see here"}. You have changed:{" "}
            {changes.mine.map(label).join(", ") || "nothing"}.
          </p>
          <fieldset className="choices">
            <legend className="visually-hidden">What to keep</legend>
            {options.map(([value, name, hint]) => (
              <label className="check" key={value}>
                <input type="radio" name="choice" checked={choice === value} onChange={() => setChoice(value)} />
                <span>
                  {name}
                  <span className="hint">{hint}</span>
                </span>
              </label>
            ))}
          </fieldset>
          {choice === "merge" &&
            changes.both.map((member) => (
              <fieldset className="versions" key={member}>
                <legend>{label(member)}</legend>
                <div className="version before">
                  Before
                  <pre dir="auto">{shown(draftOf(base)[member])}</pre>
                </div>
                {(["mine", "theirs"] as const).map((side) => (
                  <label key={side} className="version">
                    <span className="row">
                      <input
                        type="radio"
                        name={member}
                        checked={(kept[member] ?? "mine") === side}
                        onChange={() => setKept({ ...kept, [member]: side })}
                      />
                      {side === "mine" ? "Mine" : "Theirs"}
                    </span>
                    <pre dir="auto">{shown((side === "mine" ? mine : theirs)[member])}</pre>
                  </label>
                ))}
              </fieldset>
            ))}
        </div>
      )}
      <div className="dialog-actions">
        <Button onClick={onClose}>Continue editing</Button>
        <Button kind="primary" disabled={changes === undefined} onClick={resolve}>
          {choice === "theirs" ? "Discard my changes" : "Save"}
        </Button>
      </div>
    </Modal>
  );
};
