import type { ReactNode } from "react";
import { useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { count } from "../ui/count.js";
import { QueryState } from "../ui/query-state.js";
import { useRepeated } from "./use-repeated.js";

interface PartProps {
  name: string;
  detail?: ReactNode;
  isAvailable: boolean;
  /** The words for both states. */
  states: readonly [available: string, unavailable: string];
}

/** A part of the service that may be unavailable. */
const Part = ({ name, detail, isAvailable, states }: PartProps) => (
  <li className="list-row">
    <span className="list-main">
      <strong className="truncate">{name}</strong>
      {detail !== undefined && <span className="muted small">{detail}</span>}
    </span>
    <Badge tone={isAvailable ? "ok" : "danger"}>{isAvailable ? states[0] : states[1]}</Badge>
  </li>
);

/** The engines. An open circuit breaker means that an engine has failed too often. */
export const Engines = () => {
  const { service } = useSession();
  const engines = useRepeated("engines", () => service.engines.list());
  return (
    <section className="stack-s">
      <h2>Engines</h2>
      <QueryState query={engines} />
      {engines.data !== undefined && (
        <ul className="list" aria-label="Engines">
          {engines.data.data.map(({ name, available, default: isDefault, models }) => (
            <Part
              key={name}
              name={name}
              detail={[isDefault ? "default" : "", models === undefined ? "" : count(models.length, "model")]
                .filter((text) => text !== "")
                .join(" · ")}
              isAvailable={available}
              states={["breaker closed", "breaker open"]}
            />
          ))}
        </ul>
      )}
      <p className="hint">The breaker of an engine opens when it fails too often. Then fallbacks reply.</p>
    </section>
  );
};

/** The tool servers that the operator has configured. */
export const ToolServers = () => {
  const { service } = useSession();
  const capabilities = useRepeated("capabilities", () => service.capabilities.list());
  const all = capabilities.data?.data ?? [];
  const servers = all.filter(({ kind }) => kind === "server");
  return (
    <section className="stack-s">
      <h2>Tool servers</h2>
      <QueryState query={capabilities} />
      {capabilities.data !== undefined && servers.length === 0 && (
        <p className="empty small-empty muted">None is configured. {count(all.length, "tool is", "tools are")} built in.</p>
      )}
      {servers.length > 0 && (
        <ul className="list" aria-label="Tool servers">
          {servers.map(({ name, description, available }) => (
            <Part key={name} name={name} detail={description} isAvailable={available} states={["connected", "not available"]} />
          ))}
        </ul>
      )}
    </section>
  );
};
