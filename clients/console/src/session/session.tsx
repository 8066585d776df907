import { useQueryClient } from "@tanstack/react-query";
import { type Client, ConnectionError, type components, createClient, ProblemError } from "agent-service-client";
import { fetchWithProgress } from "agent-service-client/upload";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { serviceUrl } from "../location.js";
import { openStorage } from "../storage.js";
import { ErrorNotice, Loading } from "../ui/notice.js";
import type { Scope } from "./scopes.js";

export type Principal = components["schemas"]["PrincipalBody"];
export type Limits = components["schemas"]["LimitsBody"];

/** A credential that the service has accepted. */
export interface Session {
  service: Client;
  credential: string;
  principal: Principal;
  limits: Limits;
  /** A position of the event log before everything that the pages show, if the credential may read the log. */
  position: number | undefined;
}

interface SessionContext {
  session: Session | undefined;
  /** Whether the user has to sign in, perhaps again. */
  isAsking: boolean;
  /** Why the user has to sign in again. */
  reason: string | undefined;
  /** Whether a reload keeps the user signed in. */
  isKept: boolean;
  keep(isKept: boolean): void;
  signIn(credential: string, isKept: boolean): Promise<void>;
  signOut(): void;
}

/** Holds the credential if the user wants to stay signed in in this tab. */
const STORED = "agent-service-console:credential";
const storage = openStorage("sessionStorage");
/** Holds this choice, for the next time. */
const CHOSEN = "agent-service-console:stay-signed-in";
const choices = openStorage("localStorage");
/** The pause in milliseconds before a stored credential is tried again after a failure that may pass. */
const RESTORE_PAUSE = 3_000;
const REJECTED = "The service no longer accepts your credential. Sign in again to continue where you were.";

const Context = createContext<SessionContext | undefined>(undefined);

const openSession = async (credential: string, onRejected: () => void): Promise<Session> => {
  const send: typeof fetch = async (input, init) => {
    const isUpload = init?.body instanceof Blob;
    const response = await (isUpload ? fetchWithProgress(String(input), init) : fetch(input, init));
    if (response.status === 401) onRejected();
    return response;
  };
  const service = createClient({ url: serviceUrl, apiKey: credential, fetch: send });
  const principalRequest = service.principal.get();
  const eventsRequest = principalRequest.then(({ scopes }) =>
    scopes.includes("events:read") ? service.events.list({ limit: 1 }) : undefined,
  );
  const [principal, limits, page] = await Promise.all([principalRequest, service.limits.get(), eventsRequest]);
  return { service, credential, principal, limits, position: page?.headSeq };
};

const Restoring = ({ error }: { error: unknown }) => (
  <main className="restoring">{error === undefined ? <Loading label="Signing in…" /> : <ErrorNotice error={error} isRepeated />}</main>
);

export const SessionProvider = ({ children }: { children: ReactNode }) => {
  const queries = useQueryClient();
  const [session, setSession] = useState<Session>();
  const [reason, setReason] = useState<string>();
  const [isRestoring, setIsRestoring] = useState(() => storage.getItem(STORED) !== null);
  const [failure, setFailure] = useState<unknown>();
  const [isKept, setIsKept] = useState(() => choices.getItem(CHOSEN) === "true");
  /** The credential in use; rejections of earlier ones do not matter. */
  const current = useRef<string>(undefined);

  const keep = useCallback((isKept: boolean) => {
    setIsKept(isKept);
    choices.setItem(CHOSEN, String(isKept));
    if (isKept && current.current !== undefined) storage.setItem(STORED, current.current);
    else storage.removeItem(STORED);
  }, []);

  const signIn = useCallback(
    async (credential: string, isKept: boolean) => {
      const opened = await openSession(credential, () => {
        if (current.current !== credential) return;
        storage.removeItem(STORED);
        setReason(REJECTED);
      });
      current.current = credential;
      keep(isKept);
      setReason(undefined);
      setSession((before) => {
        if (before?.principal.tenantId !== opened.principal.tenantId) queries.clear();
        return opened;
      });
    },
    [queries, keep],
  );

  const signOut = useCallback(() => {
    current.current = undefined;
    storage.removeItem(STORED);
    queries.clear();
    setReason(undefined);
    setSession(undefined);
  }, [queries]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const restore = async (stored: string) => {
      try {
        await signIn(stored, true);
      } catch (error) {
        if ((error instanceof ConnectionError || error instanceof ProblemError) && error.retryable) {
          setFailure(error);
          timer = setTimeout(() => void restore(stored), RESTORE_PAUSE);
          return;
        }
        storage.removeItem(STORED);
        setReason(error instanceof Error ? error.message : String(error));
      }
      setIsRestoring(false);
    };
    const stored = storage.getItem(STORED);
    if (stored !== null) void restore(stored);
    return () => clearTimeout(timer);
  }, [signIn]);

  const isAsking = session === undefined || reason !== undefined;
  const value = useMemo(
    () => ({ session, isAsking, reason, isKept, keep, signIn, signOut }),
    [session, isAsking, reason, isKept, keep, signIn, signOut],
  );
  return <Context.Provider value={value}>{isRestoring ? <Restoring error={failure} /> : children}</Context.Provider>;
};

export const useSessions = (): SessionContext => {
  const context = useContext(Context);
  if (context === undefined) throw new Error("outside of SessionProvider");
  return context;
};

/** Returns the session; only within pages that need one. */
export const useSession = (): Session => {
  const { session } = useSessions();
  if (session === undefined) throw new Error("nobody is signed in");
  return session;
};

/** Returns whether the credential has a scope. */
export const useScope = (scope: Scope): boolean => useSession().principal.scopes.includes(scope);

/** Returns whether the credential may decide about calls that wait for staff; users only if they reach conversations of others. */
export const useMayDecide = (): boolean => {
  const isUser = useSession().principal.userId !== undefined;
  const reachesAll = useScope("conversations:all") || !isUser;
  return useScope("tools:approve") && reachesAll;
};
