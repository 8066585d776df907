const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const ago = (seconds: number): string => {
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return Math.abs(seconds) < 10 ? "just now" : relative.format(Math.round(seconds / size), unit);
};

/** A time, relative to now unless it is more than a month away. */
export const Time = ({ at }: { at: string }) => {
  const date = new Date(at);
  const seconds = (date.getTime() - Date.now()) / 1000;
  const text = Math.abs(seconds) > 30 * 86_400 ? date.toLocaleDateString() : ago(seconds);
  return (
    <time dateTime={at} title={full.format(date)}>
      {text}
    </time>
  );
};

/** Shows a time of the day with milliseconds, for logs. */
export const Clock = ({ at }: { at: string }) => {
  const date = new Date(at);
  const text = date.toLocaleTimeString(undefined, {
    hourCycle: "h23",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
  });
  return (
    <time dateTime={at} title={full.format(date)} className="mono">
      {text}
    </time>
  );
};
