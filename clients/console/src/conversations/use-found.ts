import { useEffect } from "react";

interface PagesOfMessages {
  data: { pages: { data: { id: string }[] }[] } | undefined;
  hasNextPage: boolean;
  isFetching: boolean;
  isFetchNextPageError: boolean;
  fetchNextPage: () => unknown;
}

/** Loads older messages up to the one with this id, and moves there. Returns whether it is still looked for, or is missing. */
export const useFound = (id: string | undefined, query: PagesOfMessages): "going on" | "over" | undefined => {
  const { data, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  const isShown = data?.pages.some((page) => page.data.some((message) => message.id === id)) ?? false;
  const isWanted = id !== undefined && data !== undefined && !isShown;
  const isNext = isWanted && hasNextPage && !isFetching && !isFetchNextPageError;
  useEffect(() => {
    if (isNext) fetchNextPage();
  }, [isNext, fetchNextPage]);
  useEffect(() => {
    if (!isShown) return;
    // A new page is shown from its top first.
    const timer = setTimeout(() => {
      const message = document.getElementById(`message-${id}`);
      message?.scrollIntoView({ block: "center" });
      message?.focus({ preventScroll: true });
    });
    return () => clearTimeout(timer);
  }, [id, isShown]);
  if (!isWanted) return undefined;
  return hasNextPage ? "going on" : "over";
};
