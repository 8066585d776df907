import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "./button.js";
import { pageState, QueryState } from "./query-state.js";

interface Page<Item> {
  data: Item[];
  nextCursor?: string | null;
  hasMore: boolean;
  /** Of a search: null while older items are still being indexed. */
  searchedTo?: number | null;
}

export interface PagedQuery<Item> {
  /** Names the list, with its filters. */
  queryKey: readonly unknown[];
  load: (page: { cursor?: string; limit: number }) => Promise<Page<Item>>;
}

interface PagedListProps<Item> extends PagedQuery<Item> {
  label: string;
  row: (item: Item) => ReactNode;
  keyOf: (item: Item) => string;
  empty: ReactNode;
  /** Returns the items to show of those that are listed now. */
  arrange?: (items: Item[]) => Item[];
}

const PAGE = 20;
/** The time in milliseconds after which a search is repeated while older items are still being indexed. */
const INDEXING = 5_000;

/** Reads a list page by page; once for all who use the same key. */
export const usePages = <Item,>({ queryKey, load }: PagedQuery<Item>, enabled = true) =>
  useInfiniteQuery({
    queryKey,
    enabled,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => load({ limit: PAGE, ...(pageParam === undefined ? {} : { cursor: pageParam }) }),
    refetchInterval: ({ state }) => (state.data?.pages.some(({ searchedTo }) => searchedTo === null) ? INDEXING : false),
    getNextPageParam: (page) => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
  });

/** A list of the service, page by page. */
export const PagedList = <Item,>({ label, row, keyOf, empty, arrange, ...list }: PagedListProps<Item>) => {
  const query = usePages(list);
  if (query.data === undefined) return <QueryState query={query} />;
  const listed = query.data.pages.flatMap((page) => page.data);
  const items = arrange?.(listed) ?? listed;
  // A page may be short although others follow.
  if (items.length === 0 && !query.hasNextPage) return empty;
  return (
    <div className="stack">
      {items.length > 0 && (
        <ul className="list" aria-label={label}>
          {items.map((item) => (
            <li key={keyOf(item)}>{row(item)}</li>
          ))}
        </ul>
      )}
      <QueryState query={pageState(query)} />
      {query.hasNextPage && (
        <Button className="load-more" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {query.isFetchingNextPage ? "Loading…" : "Load more"}
        </Button>
      )}
    </div>
  );
};
