import { useQuery } from "@tanstack/react-query";
import { useSessions } from "../session/session.js";

/** The time between two readings in milliseconds. */
const EVERY = 5_000;

/** Reads a part of the state again and again, unless the user has to sign in. */
export const useRepeated = <Data>(name: string, read: () => Promise<Data>, isEnabled = true) => {
  const { isAsking } = useSessions();
  return useQuery({ queryKey: ["health", name], queryFn: read, enabled: isEnabled, refetchInterval: isAsking ? false : EVERY });
};
