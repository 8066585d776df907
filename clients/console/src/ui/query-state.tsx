import { ErrorNotice, Loading } from "./notice.js";

interface Query {
  data: unknown;
  /** Why it has failed for good. */
  error: Error | null;
  /** Why the last attempt has failed. */
  failureReason: Error | null;
  refetch: () => unknown;
}

interface PagedQuery extends Query {
  isFetchNextPageError: boolean;
  fetchNextPage: () => unknown;
}

/** Returns a list of pages as a query that, if a further page has failed, tries only that one again. */
export const pageState = (query: PagedQuery): Query => {
  const { data, error, failureReason, refetch, isFetchNextPageError, fetchNextPage } = query;
  return { data, error, failureReason, refetch: isFetchNextPageError ? fetchNextPage : refetch };
};

/** What there is to say about a query: that it is loading, or why it has failed. */
export const QueryState = ({ query }: { query: Query }) => {
  const { data, error, failureReason } = query;
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void query.refetch()} />;
  if (failureReason !== null) return <ErrorNotice error={failureReason} isRepeated />;
  return data === undefined ? <Loading /> : null;
};
