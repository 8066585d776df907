import { serviceUrl } from "../location.js";
import { useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { Metric, Metrics } from "../ui/metric.js";
import { ErrorNotice } from "../ui/notice.js";
import { parseMetrics, type Sample, sum } from "./metrics.js";
import { useRepeated } from "./use-repeated.js";

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** Whether the process is ready, or why not. */
const Readiness = () => {
  const ready = useRepeated("ready", async () => {
    const response = await fetch(`${serviceUrl}/readyz`);
    return response.ok ? null : (((await response.json()) as { title?: string }).title ?? `HTTP ${response.status}`);
  });
  const [tone, text] = ready.isError
    ? (["danger", "unreachable"] as const)
    : ready.data === null
      ? (["ok", "ready"] as const)
      : (["danger", "not ready"] as const);
  return (
    <Metric name="Readiness">
      {ready.isPending ? "…" : <Badge tone={tone}>{text}</Badge>}
      {typeof ready.data === "string" && <span className="small muted"> {ready.data}</span>}
    </Metric>
  );
};

const Figures = ({ samples }: { samples: readonly Sample[] | undefined }) => {
  const of = (name: string, labels?: Record<string, string>) => (samples === undefined ? 0 : sum(samples, name, labels));
  const requests = of("http_request_seconds_count");
  const isFailed = ({ name, labels }: Sample) => name === "http_request_seconds_count" && (labels.status ?? "").startsWith("5");
  const failed = samples?.filter(isFailed).reduce((total, { value }) => total + value, 0) ?? 0;
  const mean = requests === 0 ? 0 : (of("http_request_seconds_sum") / requests) * 1000;
  const figures: [name: string, text: string][] = [
    ["Open event streams", number.format(of("open_streams", { of: "events" }))],
    ["Open sockets", number.format(of("open_streams", { of: "sockets" }))],
    ["Open circuit breakers", number.format(of("engine_breaker_open"))],
    ["Requests", compact.format(requests)],
    ["Failed (5xx)", compact.format(failed)],
    ["Mean duration", `${number.format(mean)} ms`],
    ["Log lines dropped", compact.format(of("log_lines_dropped"))],
  ];
  return figures.map(([name, text]) => (
    <Metric key={name} name={name}>
      {samples === undefined ? "…" : text}
    </Metric>
  ));
};

/** Readiness, and the figures of the process. */
export const Process = () => {
  const { service } = useSession();
  const canRead = useScope("metrics:read");
  const metrics = useRepeated("metrics", async () => parseMetrics(await (await service.fetch("/metrics")).text()), canRead);
  return (
    <>
      <Metrics>
        <Readiness />
        {canRead && !metrics.isError && <Figures samples={metrics.data} />}
      </Metrics>
      {!canRead && (
        <p className="muted small">
          Open streams and figures of requests need the scope <code>metrics:read</code>.
        </p>
      )}
      {metrics.error !== null && <ErrorNotice error={metrics.error} />}
    </>
  );
};
