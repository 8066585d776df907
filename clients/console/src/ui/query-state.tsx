import { ErrorNotice, Loading } from "./notice.js";

interface Query {
  data: unknown;
  /** Why it has failed for good. */
  error: Error | null;
  /** Why the last attempt has failed. */
  failureReason: Error | null;
  refetch: () => unknown;
}

/** What there is to say about a query: that it is loading, or why it has failed. */
export const QueryState = ({ query }: { query: Query }) => {
  const { data, error, failureReason } = query;
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void query.refetch()} />;
  if (failureReason !== null) return <ErrorNotice error={failureReason} isRepeated />;
  return data === undefined ? <Loading /> : null;
};
