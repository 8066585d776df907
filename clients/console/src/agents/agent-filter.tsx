import { Combobox } from "@base-ui/react/combobox";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useScope, useSession } from "../session/session.js";
import { Icon } from "../ui/icon.js";
import { Search } from "../ui/search.js";
import { useDebounced } from "../ui/use-debounced.js";

interface Choice {
  id: string;
  name: string;
}

interface AgentFilterProps {
  /** The id of the chosen agent; empty for all. */
  value: string;
  onChange: (id: string) => void;
}

const SHOWN = 10;
const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** Returns the agents whose names begin with a text, or the one with this id. */
const useAgents = (text: string): Choice[] => {
  const { service } = useSession();
  const name = useDebounced(text.trim());
  const query = useQuery({
    queryKey: ["agents", "choice", name],
    queryFn: () => service.agents.list({ limit: SHOWN, ...(ID.test(name) ? { ids: name } : name !== "" && { name }) }),
    placeholderData: (before) => before,
  });
  return query.data?.data.map((agent) => ({ id: agent.id, name: agent.name })) ?? [];
};

const AgentSearch = ({ value, onChange }: AgentFilterProps) => {
  const { service } = useSession();
  const input = useId();
  const [text, setText] = useState("");
  const agents = useAgents(text);
  const given = useQuery({ queryKey: ["agent", value], queryFn: () => service.agents.get(value), enabled: value !== "" });
  const name = given.data?.name ?? agents.find(({ id }) => id === value)?.name;
  const chosen = value === "" ? null : { id: value, name: name ?? value };
  return (
    <div className="search">
      <Combobox.Root
        items={agents}
        filter={null}
        autoHighlight
        value={chosen}
        onValueChange={(choice: Choice | null) => onChange(choice?.id ?? "")}
        onInputValueChange={(typed, { reason }) => setText(reason === "item-press" ? "" : typed)}
        itemToStringLabel={(choice: Choice) => choice.name}
        isItemEqualToValue={(one: Choice, other: Choice) => one.id === other.id}
      >
        <label className="small muted" htmlFor={input}>
          Agent
        </label>
        <div className="with-clear">
          <Combobox.Input id={input} className="input" placeholder="All agents" />
          <Combobox.Clear className="clear" aria-label="All agents">
            <Icon name="close" size={14} />
          </Combobox.Clear>
        </div>
        <Combobox.Portal>
          <Combobox.Positioner className="popup-positioner" sideOffset={4}>
            <Combobox.Popup className="popup">
              <Combobox.Empty className="option-empty">No agent begins with this.</Combobox.Empty>
              <Combobox.List>
                {(choice: Choice) => (
                  <Combobox.Item key={choice.id} className="option" value={choice}>
                    <span className="truncate" dir="auto">
                      {choice.name}
                    </span>
                    <span className="muted small mono option-id">…{choice.id.slice(-6)}</span>
                  </Combobox.Item>
                )}
              </Combobox.List>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
    </div>
  );
};

/** A filter by agent: by its name or, without the scope for names, by its id. */
export const AgentFilter = (props: AgentFilterProps) =>
  useScope("agents:read") ? <AgentSearch {...props} /> : <Search label="Agent id" placeholder="All agents" {...props} />;
