/** A line of the Prometheus text format. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads the samples of a text in the Prometheus format. */
export const parseMetrics = (text: string): Sample[] =>
  text.split("\n").flatMap((line) => {
    const [, name = "", labels = "", value = ""] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (name === "") return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = "", text = ""]) => [
      label,
      text.replace(/\\(.)/g, "$1"),
    ]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });

/** Returns the sum of the samples with a name and labels. */
export const sum = (samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number =>
  samples
    .filter((sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((total, { value }) => total + value, 0);
