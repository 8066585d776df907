import { useQuery, useQueryClient } from "@tanstack/react-query";
import { serviceUrl } from "../location.js";
import { useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { ErrorNotice, Loading } from "../ui/notice.js";
import { parseMetrics, sum } from "./metrics.js";

const EVERY = 5_000;

const Readiness = () => {
  const ready = useQuery({
    queryKey: ["health", "ready"],
    refetchInterval: EVERY,
    queryFn: async () => {
      const response = await fetch(`${serviceUrl}/readyz`);
      return response.ok ? null : (((await response.json()) as { title?: string }).title ?? `HTTP ${response.status}`);
    },
  });
  return (
    <section className="card stack-s">
      <h2>Readiness</h2>
      {ready.isPending && <Loading />}
      {ready.isError && <ErrorNotice error={ready.error} />}
      {ready.data !== undefined && !ready.isError && (
        <p className="row">
          <Badge tone={ready.data === null ? "ok" : "danger"}>{ready.data === null ? "ready" : "not ready"}</Badge>
          <span className="muted">{ready.data ?? "The process reaches its store."}</span>
        </p>
      )}
    </section>
  );
};

const Engines = () => {
  const { service } = useSession();
  const engines = useQuery({ queryKey: ["health", "engines"], queryFn: () => service.engines.list(), refetchInterval: EVERY });
  return (
    <section className="card stack-s">
      <h2>Engines</h2>
      {engines.isPending && <Loading />}
      {engines.isError && <ErrorNotice error={engines.error} />}
      <ul className="stack-s">
        {engines.data?.data.map(({ name, available, default: isDefault, models }) => (
          <li key={name} className="row">
            <Badge tone={available ? "ok" : "danger"}>{available ? "available" : "breaker open"}</Badge>
            <strong>{name}</strong>
            {isDefault && <Badge>default</Badge>}
            {models !== undefined && <span className="muted small">{models.length} models</span>}
          </li>
        ))}
      </ul>
      <p className="hint">An open circuit breaker means that the engine has failed too often, and that fallbacks reply.</p>
    </section>
  );
};

const Tools = () => {
  const { service } = useSession();
  const capabilities = useQuery({ queryKey: ["health", "capabilities"], queryFn: () => service.capabilities.list(), refetchInterval: EVERY });
  const { data } = capabilities;
  const servers = data?.data.filter(({ kind }) => kind === "server") ?? [];
  return (
    <section className="card stack-s">
      <h2>Tool servers</h2>
      {capabilities.isPending && <Loading />}
      {capabilities.isError && <ErrorNotice error={capabilities.error} />}
      {data !== undefined && servers.length === 0 && <p className="muted">None is configured. {data.data.length} tools are built in.</p>}
      <ul className="stack-s">
        {servers.map(({ name, description, available }) => (
          <li key={name} className="row">
            <Badge tone={available ? "ok" : "danger"}>{available ? "connected" : "not available"}</Badge>
            <strong>{name}</strong>
            <span className="muted small">{description}</span>
          </li>
        ))}
      </ul>
    </section>
  );
};

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

const Process = () => {
  const { service } = useSession();
  const canRead = useScope("metrics:read");
  const metrics = useQuery({
    queryKey: ["health", "metrics"],
    enabled: canRead,
    refetchInterval: EVERY,
    queryFn: async () => parseMetrics(await (await service.fetch("/metrics")).text()),
  });
  if (!canRead) {
    return (
      <section className="card stack-s">
        <h2>Process</h2>
        <p className="muted">
          Streams and request rates need the scope <code>metrics:read</code>.
        </p>
      </section>
    );
  }
  const samples = metrics.data ?? [];
  const requests = sum(samples, "http_request_seconds_count");
  const failed = samples.filter(({ name, labels }) => name === "http_request_seconds_count" && labels.status?.startsWith("5")).reduce((total, { value }) => total + value, 0);
  const mean = requests === 0 ? 0 : (sum(samples, "http_request_seconds_sum") / requests) * 1000;
  const facts: [string, string][] = [
    ["Open event streams", number.format(sum(samples, "open_streams", { of: "events" }))],
    ["Open sockets", number.format(sum(samples, "open_streams", { of: "sockets" }))],
    ["Requests", number.format(requests)],
    ["Of them failed (5xx)", number.format(failed)],
    ["Mean duration", `${number.format(mean)} ms`],
    ["Open breakers", number.format(sum(samples, "engine_breaker_open"))],
    ["Log lines dropped", number.format(sum(samples, "log_lines_dropped"))],
  ];
  return (
    <section className="card stack-s">
      <h2>Process</h2>
      {metrics.isPending && <Loading />}
      {metrics.isError && <ErrorNotice error={metrics.error} />}
      {metrics.data !== undefined && (
        <dl className="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
};

/** The state of the process that answers the console. */
export const HealthPage = () => {
  const queries = useQueryClient();
  return (
    <>
      <header className="page-header">
        <h1>Health</h1>
        <Button onClick={() => void queries.invalidateQueries({ queryKey: ["health"] })}>
          <Icon name="refresh" /> Refresh
        </Button>
      </header>
      <p className="muted">Of the process that answers this page, every five seconds.</p>
      <div className="columns wide">
        <Readiness />
        <Engines />
        <Tools />
        <Process />
      </div>
    </>
  );
};
