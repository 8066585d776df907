import { useState } from "react";
import { useSearchParams } from "wouter";
import { AgentFilter } from "../agents/agent-filter.js";
import { Search } from "../ui/search.js";
import { useDebounced } from "../ui/use-debounced.js";
import { useFilter } from "../ui/use-filter.js";
import { useAuthor } from "./use-author.js";

/** The time in milliseconds after which a search begins. */
const PAUSE = 300;
/** The maximum length of a search in characters. */
const MAX_SEARCH = 200;

const NAMES = ["q", "agentId", "userId", "waiting", "assignee", "rating", "from", "to"] as const;

/** Returns the beginning of a local day, or of one after it; empty if the text is no day. */
const startOf = (day: string, daysLater: number): string => {
  const date = new Date(`${day}T00:00`);
  date.setDate(date.getDate() + daysLater);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
};

/** Returns what the service is asked for: `to` is a whole day here, and the time before which it ends there. */
const queryValue = (name: (typeof NAMES)[number], value: string): string => {
  if (name === "from") return startOf(value, 0);
  return name === "to" ? startOf(value, 1) : value;
};

/** The filters of the list in the address of the page, as a query in JSON, once they have not changed for a moment. */
export const useListQuery = (): string => {
  const [search] = useSearchParams();
  const values = NAMES.map((name) => [name, queryValue(name, (search.get(name) ?? "").trim())]);
  return useDebounced(JSON.stringify(Object.fromEntries(values.filter(([, value]) => value !== ""))), PAUSE);
};

interface FieldProps {
  value: string;
  onChange: (value: string) => void;
}

const Rating = ({ value, onChange }: FieldProps) => (
  <label className="search">
    <span className="small muted">Rating</span>
    <select className="input" value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">All</option>
      <option value="up">A good one</option>
      <option value="down">A bad one</option>
    </select>
  </label>
);

const Day = ({ label, value, onChange }: FieldProps & { label: string }) => (
  <label className="search">
    <span className="small muted">{label}</span>
    <input className="input" type="date" value={value} onChange={({ target }) => onChange(target.value)} />
  </label>
);

const Check = ({ label, isChecked, onChange }: { label: string; isChecked: boolean; onChange: (isChecked: boolean) => void }) => (
  <label className="row">
    <input type="checkbox" checked={isChecked} onChange={({ target }) => onChange(target.checked)} />
    {label}
  </label>
);

/** The filters that are needed less often; shown at first if one of them is in use. */
const MoreFilters = () => {
  const [rating, setRating] = useFilter("rating");
  const [from, setFrom] = useFilter("from");
  const [to, setTo] = useFilter("to");
  // From then on the user opens and closes it.
  const [isOpen] = useState(rating + from + to !== "");
  return (
    <details className="more-filters" open={isOpen}>
      <summary className="small">More filters</summary>
      <div className="filters">
        <Rating value={rating} onChange={setRating} />
        <Day label="Last message from" value={from} onChange={setFrom} />
        <Day label="Last message to" value={to} onChange={setTo} />
      </div>
    </details>
  );
};

/** The filters above the list. */
export const Filters = () => {
  const [q, setQ] = useFilter("q");
  const [agentId, setAgentId] = useFilter("agentId");
  const [userId, setUserId] = useFilter("userId");
  const [waiting, setWaiting] = useFilter("waiting");
  const [assignee, setAssignee] = useFilter("assignee");
  const name = useAuthor()[0].trim();
  return (
    <>
      <div className="filters">
        <Search label="Search" value={q} onChange={setQ} placeholder="Words of a title or a message" maxLength={MAX_SEARCH} isMain />
        <AgentFilter value={agentId} onChange={setAgentId} />
        <Search label="User" value={userId} onChange={setUserId} placeholder="All users" />
        <div className="checks">
          <Check label="Waiting for staff" isChecked={waiting !== ""} onChange={(isChecked) => setWaiting(isChecked ? "true" : "")} />
          {(name !== "" || assignee !== "") && (
            <Check
              label={assignee === "" || assignee === name ? "Assigned to me" : `Assigned to ${assignee}`}
              isChecked={assignee !== ""}
              onChange={(isChecked) => setAssignee(isChecked ? name : "")}
            />
          )}
        </div>
      </div>
      <MoreFilters />
    </>
  );
};
