import { useQueryClient } from "@tanstack/react-query";
import { type Client, type components, createClient } from "agent-service-client";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { serviceUrl } from "../location.js";

export type Scope = components["schemas"]["Scope"];
export type Principal = components["schemas"]["PrincipalBody"];
export type Limits = components["schemas"]["LimitsBody"];

/** A credential that the service has accepted. */
export interface Session {
  service: Client;
  credential: string;
  principal: Principal;
  limits: Limits;
}

interface SessionContext {
  session: Session | undefined;
  /** The reason why the last session has ended. */
  reason: string | undefined;
  signIn(credential: string, isKept: boolean): Promise<void>;
  signOut(reason?: string): void;
}

/** Holds the credential if the user wants to keep it until the tab is closed. */
const STORED = "agent-service-console:credential";

const Context = createContext<SessionContext | undefined>(undefined);

const openSession = async (credential: string): Promise<Session> => {
  const service = createClient({ url: serviceUrl, apiKey: credential });
  const [principal, limits] = await Promise.all([service.principal.get(), service.limits.get()]);
  return { service, credential, principal, limits };
};

export const SessionProvider = ({ children }: { children: ReactNode }) => {
  const queries = useQueryClient();
  const [session, setSession] = useState<Session>();
  const [reason, setReason] = useState<string>();
  const [isRestoring, setIsRestoring] = useState(() => sessionStorage.getItem(STORED) !== null);

  const signIn = useCallback(async (credential: string, isKept: boolean) => {
    const opened = await openSession(credential);
    if (isKept) sessionStorage.setItem(STORED, credential);
    setReason(undefined);
    setSession(opened);
  }, []);

  const signOut = useCallback(
    (why?: string) => {
      sessionStorage.removeItem(STORED);
      queries.clear();
      setReason(why);
      setSession(undefined);
    },
    [queries],
  );

  useEffect(() => {
    const stored = sessionStorage.getItem(STORED);
    if (stored === null) return;
    openSession(stored)
      .then(setSession, (error: unknown) => signOut(error instanceof Error ? error.message : String(error)))
      .finally(() => setIsRestoring(false));
  }, [signOut]);

  const value = useMemo(() => ({ session, reason, signIn, signOut }), [session, reason, signIn, signOut]);
  return <Context.Provider value={value}>{isRestoring ? <p className="restoring">Signing in…</p> : children}</Context.Provider>;
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
